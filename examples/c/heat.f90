! The heat equation on a plate, by strips: the program of heat.c, with the same bits.
module heat_program
  use, intrinsic :: iso_c_binding
  use migbsp
  implicit none
  private

  type :: heat
    integer(c_int64_t) :: size, steps, rows
    ! Columns of this array are rows of the plate; columns 0 and rows + 1 are those of the neighbours, or the border.
    real(c_double), allocatable :: plate(:, :)
  end type

contains

  ! A strip without values, and the rows above it.
  subroutine make(self, first)
    type(heat), pointer, intent(out) :: self
    integer(c_int64_t), intent(out) :: first
    integer :: status
    allocate (self)
    self%size = bsp_parameter_int("size", 512_c_int64_t)
    self%steps = bsp_parameter_int("steps", 100_c_int64_t)
    if (self%size < bsp_nprocs()) call bsp_refuse("invalid value for `size`: must be at least a row for each process")
    first = self%size * bsp_pid() / bsp_nprocs()
    self%rows = self%size * (bsp_pid() + 1) / bsp_nprocs() - first
    allocate (self%plate(self%size, 0:self%rows + 1), stat=status)
    if (status /= 0) call bsp_fail("there is no memory for the plate")
  end subroutine

  subroutine bsp_setup() bind(c)
    integer(c_int64_t) :: ignored
    ignored = bsp_parameter_int("size", 512_c_int64_t) + bsp_parameter_int("steps", 100_c_int64_t)
    call bsp_parameters_end()
  end subroutine

  type(c_ptr) function bsp_create(argc, argv) bind(c) result(process)
    integer(c_int), value :: argc
    type(c_ptr), value :: argv
    type(heat), pointer :: self
    integer(c_int64_t) :: first, x, y
    real(c_double) :: middle, width, right, down
    call make(self, first)
    middle = self%size / 2.0_c_double
    width = 0.01_c_double * (real(self%size, c_double) * self%size)
    do y = 0, self%rows + 1
      do x = 1, self%size
        right = (x - 1) - middle
        down = (first - 1 + y) - middle
        self%plate(x, y) = exp(-(right * right + down * down) / width)
      end do
    end do
    call bsp_remaining(self%steps + 1)
    process = c_loc(self)
  end function

  ! A time step.
  subroutine advance(plate, size, rows)
    integer(c_int64_t), intent(in) :: size, rows
    real(c_double), intent(inout) :: plate(size, 0:rows + 1)
    ! The row that is computed and the one above it, as they were.
    real(c_double) :: above(size), row(size)
    integer(c_int64_t) :: x, y
    above = plate(:, 0)
    do y = 1, rows
      row = plate(:, y)
      do x = 2, size - 1
        plate(x, y) = row(x) + 0.2_c_double * ((((above(x) + plate(x, y + 1)) + row(x - 1)) + row(x + 1)) - 4 * row(x))
      end do
      above = row
    end do
  end subroutine

  integer(c_int) function bsp_superstep(process) bind(c) result(halts)
    type(c_ptr), value :: process
    type(heat), pointer :: self
    real(c_double), pointer :: row(:)
    integer(c_int) :: from
    integer(c_size_t) :: bytes
    call c_f_pointer(process, self)
    do
      call bsp_next_doubles(from, row)
      if (.not. associated(row)) exit
      if (size(row) /= self%size) call bsp_fail("a row has another length")
      if (from < bsp_pid()) then
        self%plate(:, 0) = row
      else
        self%plate(:, self%rows + 1) = row
      end if
    end do
    if (bsp_index() > 0) then
      call advance(self%plate, self%size, self%rows)
      call bsp_charge(10 * self%rows * self%size)
    end if
    call bsp_remaining(self%steps - bsp_index())
    halts = 0
    if (bsp_index() == self%steps) then
      call bsp_output_doubles(self%plate(:, 1:self%rows), [self%size, self%rows])
      halts = 1
      return
    end if
    bytes = self%size * c_sizeof(self%plate(1, 1))
    if (bsp_pid() > 0) call bsp_send(bsp_pid() - 1, self%plate(:, 1), bytes)
    if (bsp_pid() + 1 < bsp_nprocs()) call bsp_send(bsp_pid() + 1, self%plate(:, self%rows), bytes)
  end function

  subroutine bsp_destroy(process) bind(c)
    type(c_ptr), value :: process
    type(heat), pointer :: self
    call c_f_pointer(process, self)
    deallocate (self)
  end subroutine

  subroutine bsp_save(process) bind(c)
    type(c_ptr), value :: process
    type(heat), pointer :: self
    call c_f_pointer(process, self)
    call bsp_write(self%plate, size(self%plate, kind=c_size_t) * 8)
  end subroutine

  type(c_ptr) function bsp_load(argc, argv) bind(c) result(process)
    integer(c_int), value :: argc
    type(c_ptr), value :: argv
    type(heat), pointer :: self
    integer(c_int64_t) :: first
    call make(self, first)
    call bsp_read(self%plate, size(self%plate, kind=c_size_t) * 8)
    process = c_loc(self)
  end function

end module
