! The functions of c/migbsp.h for Fortran. A program defines bsp_create, bsp_superstep, bsp_destroy and, to be moved, bsp_save and bsp_load, all with
! bind(c), and is linked with migbsp.h, compiled as C with -DMIGBSP_MAIN. Fortran has no weak symbols: the linker finds which functions there are.
!
! Lengths are in bytes: n * c_sizeof(x). Any contiguous variable may be a buffer.
module migbsp
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: bsp_pid, bsp_nprocs, bsp_index, bsp_seed, bsp_supersteps, bsp_elapsed, bsp_is_standby
  public :: bsp_send, bsp_broadcast, bsp_send_sized, bsp_next, bsp_next_doubles, bsp_charge, bsp_remaining, bsp_progress, bsp_round
  public :: bsp_output, bsp_output_doubles, bsp_note, bsp_snapshot, bsp_write, bsp_read
  public :: bsp_reduce, bsp_reduced_double, bsp_reduced_int64, bsp_reduced_doubles, bsp_reduce_bool, bsp_reduced_bool
  public :: bsp_parameter_int, bsp_parameter_double, bsp_parameter_bool, bsp_parameters_end, bsp_fail, bsp_refuse

  integer(c_int), parameter, public :: bsp_sum = 1, bsp_min = 2, bsp_max = 3, bsp_and = 4, bsp_or = 5

  interface
    integer(c_int) function bsp_pid() bind(c)
      import
    end function
    integer(c_int) function bsp_nprocs() bind(c)
      import
    end function
    integer(c_int64_t) function bsp_index() bind(c)
      import
    end function
    integer(c_int64_t) function bsp_seed() bind(c)
      import
    end function
    integer(c_int64_t) function bsp_supersteps() bind(c)
      import
    end function
    real(c_double) function bsp_elapsed() bind(c)
      import
    end function
    integer(c_int) function bsp_is_standby(rank) bind(c)
      import
      integer(c_int), value :: rank
    end function
    subroutine bsp_send(to, bytes, length) bind(c)
      import
      integer(c_int), value :: to
      type(*), intent(in) :: bytes(*)
      integer(c_size_t), value :: length
    end subroutine
    subroutine bsp_broadcast(bytes, length) bind(c)
      import
      type(*), intent(in) :: bytes(*)
      integer(c_size_t), value :: length
    end subroutine
    subroutine bsp_send_sized(to, length) bind(c)
      import
      integer(c_int), value :: to
      integer(c_int64_t), value :: length
    end subroutine
    ! The bytes of the next message, or a null pointer.
    type(c_ptr) function bsp_next(from, length) bind(c)
      import
      integer(c_int), intent(out) :: from
      integer(c_size_t), intent(out) :: length
    end function
    subroutine bsp_charge(instructions) bind(c)
      import
      integer(c_int64_t), value :: instructions
    end subroutine
    subroutine bsp_remaining(supersteps) bind(c)
      import
      integer(c_int64_t), value :: supersteps
    end subroutine
    subroutine bsp_progress(part) bind(c)
      import
      real(c_double), value :: part
    end subroutine
    subroutine bsp_round(length, last) bind(c)
      import
      integer(c_int32_t), value :: length, last
    end subroutine
    subroutine bsp_output(bytes, length) bind(c)
      import
      type(*), intent(in) :: bytes(*)
      integer(c_size_t), value :: length
    end subroutine
    subroutine bsp_write(bytes, length) bind(c)
      import
      type(*), intent(in) :: bytes(*)
      integer(c_size_t), value :: length
    end subroutine
    subroutine bsp_read(bytes, length) bind(c)
      import
      type(*) :: bytes(*)
      integer(c_size_t), value :: length
    end subroutine
    subroutine bsp_parameters_end() bind(c)
      import
    end subroutine

    ! Those with names: below, names are texts of Fortran.
    subroutine c_output_array(kind, values, dimensions, shape) bind(c, name="bsp_output_array")
      import
      character(kind=c_char), intent(in) :: kind(*)
      type(*), intent(in) :: values(*)
      integer(c_int), value :: dimensions
      integer(c_int64_t), intent(in) :: shape(*)
    end subroutine
    subroutine c_note(name, value) bind(c, name="bsp_note")
      import
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: value
    end subroutine
    subroutine c_snapshot(name, bytes, length) bind(c, name="bsp_snapshot")
      import
      character(kind=c_char), intent(in) :: name(*)
      type(*), intent(in) :: bytes(*)
      integer(c_size_t), value :: length
    end subroutine
    subroutine c_reduce_doubles(name, operation, values, count) bind(c, name="bsp_reduce_doubles")
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: operation
      real(c_double), intent(in) :: values(*)
      integer(c_size_t), value :: count
    end subroutine
    subroutine c_reduce_int64s(name, operation, values, count) bind(c, name="bsp_reduce_int64s")
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: operation
      integer(c_int64_t), intent(in) :: values(*)
      integer(c_size_t), value :: count
    end subroutine
    subroutine c_reduce_bool(name, operation, value) bind(c, name="bsp_reduce_bool")
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: operation, value
    end subroutine
    subroutine c_reduced_doubles(name, operation, values, count) bind(c, name="bsp_reduced_doubles")
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: operation
      real(c_double), intent(out) :: values(*)
      integer(c_size_t), value :: count
    end subroutine
    integer(c_int64_t) function c_reduced_int64(name, operation) bind(c, name="bsp_reduced_int64")
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: operation
    end function
    integer(c_int) function c_reduced_bool(name, operation) bind(c, name="bsp_reduced_bool")
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: operation
    end function
    integer(c_int64_t) function c_parameter_int(name, otherwise) bind(c, name="bsp_parameter_int")
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: otherwise
    end function
    real(c_double) function c_parameter_double(name, otherwise) bind(c, name="bsp_parameter_double")
      import
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: otherwise
    end function
    integer(c_int) function c_parameter_bool(name, otherwise) bind(c, name="bsp_parameter_bool")
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: otherwise
    end function
    subroutine c_fail(text) bind(c, name="bsp_fail_text")
      import
      character(kind=c_char), intent(in) :: text(*)
    end subroutine
    subroutine c_refuse(text) bind(c, name="bsp_refuse_text")
      import
      character(kind=c_char), intent(in) :: text(*)
    end subroutine
  end interface

  ! Contributes a number or an array of numbers, with bsp_sum, bsp_min or bsp_max.
  interface bsp_reduce
    module procedure reduce_double, reduce_doubles, reduce_int64, reduce_int64s
  end interface

contains

  ! The next message as numbers; `values` is not associated if there is none.
  subroutine bsp_next_doubles(from, values)
    integer(c_int), intent(out) :: from
    real(c_double), pointer, intent(out) :: values(:)
    integer(c_size_t) :: length
    type(c_ptr) :: bytes
    nullify (values)
    bytes = bsp_next(from, length)
    if (.not. c_associated(bytes)) return
    if (mod(length, 8_c_size_t) /= 0) call bsp_fail("a message has no whole number of doubles")
    call c_f_pointer(bytes, values, [length / 8])
  end subroutine

  ! The output is an array of doubles. C has its last dimension side by side, Fortran its first: the shape is written in the order of C.
  subroutine bsp_output_doubles(values, shape)
    real(c_double), intent(in) :: values(*)
    integer(c_int64_t), intent(in) :: shape(:)
    call c_output_array("<f8" // c_null_char, values, size(shape, kind=c_int), shape(size(shape):1:-1))
  end subroutine

  subroutine bsp_note(name, value)
    character(*), intent(in) :: name
    real(c_double), intent(in) :: value
    call c_note(name // c_null_char, value)
  end subroutine

  subroutine bsp_snapshot(name, bytes, length)
    character(*), intent(in) :: name
    type(*), intent(in) :: bytes(*)
    integer(c_size_t), intent(in) :: length
    call c_snapshot(name // c_null_char, bytes, length)
  end subroutine

  subroutine reduce_double(name, operation, value)
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: operation
    real(c_double), intent(in) :: value
    call c_reduce_doubles(name // c_null_char, operation, [value], 1_c_size_t)
  end subroutine

  subroutine reduce_doubles(name, operation, values)
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: operation
    real(c_double), intent(in) :: values(:)
    call c_reduce_doubles(name // c_null_char, operation, values, size(values, kind=c_size_t))
  end subroutine

  subroutine reduce_int64(name, operation, value)
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: operation
    integer(c_int64_t), intent(in) :: value
    call c_reduce_int64s(name // c_null_char, operation, [value], 1_c_size_t)
  end subroutine

  subroutine reduce_int64s(name, operation, values)
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: operation
    integer(c_int64_t), intent(in) :: values(:)
    call c_reduce_int64s(name // c_null_char, operation, values, size(values, kind=c_size_t))
  end subroutine

  subroutine bsp_reduce_bool(name, operation, value)
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: operation
    logical, intent(in) :: value
    call c_reduce_bool(name // c_null_char, operation, merge(1_c_int, 0_c_int, value))
  end subroutine

  real(c_double) function bsp_reduced_double(name, operation)
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: operation
    real(c_double) :: value(1)
    call c_reduced_doubles(name // c_null_char, operation, value, 1_c_size_t)
    bsp_reduced_double = value(1)
  end function

  subroutine bsp_reduced_doubles(name, operation, values)
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: operation
    real(c_double), intent(out) :: values(:)
    call c_reduced_doubles(name // c_null_char, operation, values, size(values, kind=c_size_t))
  end subroutine

  integer(c_int64_t) function bsp_reduced_int64(name, operation)
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: operation
    bsp_reduced_int64 = c_reduced_int64(name // c_null_char, operation)
  end function

  logical function bsp_reduced_bool(name, operation)
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: operation
    bsp_reduced_bool = c_reduced_bool(name // c_null_char, operation) /= 0
  end function

  integer(c_int64_t) function bsp_parameter_int(name, otherwise)
    character(*), intent(in) :: name
    integer(c_int64_t), intent(in) :: otherwise
    bsp_parameter_int = c_parameter_int(name // c_null_char, otherwise)
  end function

  real(c_double) function bsp_parameter_double(name, otherwise)
    character(*), intent(in) :: name
    real(c_double), intent(in) :: otherwise
    bsp_parameter_double = c_parameter_double(name // c_null_char, otherwise)
  end function

  logical function bsp_parameter_bool(name, otherwise)
    character(*), intent(in) :: name
    logical, intent(in) :: otherwise
    bsp_parameter_bool = c_parameter_bool(name // c_null_char, merge(1_c_int, 0_c_int, otherwise)) /= 0
  end function

  ! These two do not return.
  subroutine bsp_fail(text)
    character(*), intent(in) :: text
    call c_fail(text // c_null_char)
  end subroutine

  subroutine bsp_refuse(text)
    character(*), intent(in) :: text
    call c_refuse(text // c_null_char)
  end subroutine

end module
