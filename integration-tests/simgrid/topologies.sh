#!/bin/sh
# Writes the routes and flows of SimGrid that `simulator/tests/topologies.rs` compares with: run it in
# `simulator/tests/data/topologies` with the program that `routes.cpp` was built to.
#
#   ../../../../integration-tests/simgrid/topologies.sh ./routes
set -eu

exact="--cfg=network/optim:Full --cfg=surf/precision:1e-14 --cfg=maxmin/precision:1e-9 --log=root.thres:critical"

for platform in *.xml; do
    name=${platform%.xml}
    case $name in
        dragonfly) step=7 ;;
        torus_2d) step=2 ;;
        several | fat_tree_3_levels | dragonfly_shared | torus_3d | torus_4d) step=3 ;;
        *) step=1 ;;
    esac
    # shellcheck disable=SC2086
    "$1" routes "$platform" -E=$step $exact > "$name.routes.csv"
    # shellcheck disable=SC2086
    "$1" flows "$platform" -N=50 -S=1 $exact > "$name.flows.csv"
done
