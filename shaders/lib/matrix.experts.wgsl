// Selects the matrix of a tile's expert: matrices are consecutive, with expert_groups groups each. The plan (expert-plan.wgsl)
// contains the expert of each tile and its rows of x: TASK_ROWS + 1 words per tile.
#import "lib/place.wgsl"

const GATHER = true; // whether rows are gathered from x by the plan; otherwise x has the tiles' rows
const IDLE = 0xffffffffu;

@group(0) @binding(7) var<storage, read> plan: array<u32>;

fn expert_of(tile: u32) -> u32 {
  return plan[tile * (TASK_ROWS + 1u)];
}

// True if the tile has no rows, or its expert is in another window.
fn is_idle(tile: u32) -> bool {
  let expert = expert_of(tile);
  let first = expert * args.expert_groups;
  return expert == IDLE || first >= args.first_group + args.groups || first + args.expert_groups <= args.first_group;
}

fn place_of(tile: u32, column: u32) -> Place {
  let group = expert_of(tile) * args.expert_groups + column / 8u - args.first_group; // wraps round before the window
  let inside = column / 8u < args.expert_groups && group < args.groups;
  return Place(min(group, args.groups - 1u), column, inside);
}

// The group of columns whose bias comes first for a row: the first of its expert.
fn bias_group(row: u32) -> u32 {
  return expert_of(row / TASK_ROWS) * args.expert_groups;
}

fn x_row(row: u32) -> u32 {
  if (!GATHER) {
    return row;
  }
  let source = plan[row / TASK_ROWS * (TASK_ROWS + 1u) + 1u + row % TASK_ROWS];
  return min(source, arrayLength(&x) / args.x_quads - 1u); // the plan is undefined while kernels are compiled by running them
}
