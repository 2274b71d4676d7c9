// Sorts the expert choices of all rows into tiles of at most tile_rows, each of one expert, so that matmuls process tiles and the
// CPU does not need the choices. One workgroup. The order within an expert is arbitrary, because no sum depends on it.
const WORKGROUP = 128u;
const MOST_EXPERTS = 512u;
const IDLE = 0xffffffffu;

struct Args {
  experts: u32,
  chosen: u32,       // experts per row
  route_stride: u32, // words of `routes` from one row to the next
  route_first: u32,  // words before those of the first row
  place_stride: u32,
  tile_rows: u32,
  tiles: u32,        // tiles of the plan; tile_rows + 1 words each: the expert, and rows of x
  most_rows: u32,
  count_at: u32,     // word of the plan with the number of rows
}

@group(0) @binding(0) var<storage, read> routes: array<u32>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> plan: array<u32>;
@group(0) @binding(3) var<storage, read_write> places: array<u32>; // tile row of each choice of a row

var<workgroup> counts: array<atomic<u32>, MOST_EXPERTS>;
var<workgroup> first_tiles: array<u32, MOST_EXPERTS>;
var<workgroup> used: u32; // number of tiles used so far

fn expert_of(i: u32) -> u32 {
  let expert = routes[args.route_first + i / args.chosen * args.route_stride + i % args.chosen];
  return min(expert, args.experts - 1u);
}

fn tiles_for(rows: u32) -> u32 {
  return (rows + args.tile_rows - 1u) / args.tile_rows;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) local: u32) {
  let entries = min(plan[args.count_at], args.most_rows) * args.chosen;
  for (var e = local; e < args.experts; e += WORKGROUP) {
    atomicStore(&counts[e], 0u);
  }
  workgroupBarrier();
  for (var i = local; i < entries; i += WORKGROUP) {
    atomicAdd(&counts[expert_of(i)], 1u);
  }
  workgroupBarrier();
  if (local == 0u) {
    var tile = 0u;
    for (var e = 0u; e < args.experts; e++) {
      first_tiles[e] = tile;
      tile += tiles_for(atomicLoad(&counts[e]));
    }
    used = tile;
  }
  workgroupBarrier();
  let words = args.tile_rows + 1u;
  for (var e = local; e < args.experts; e += WORKGROUP) {
    let rows = atomicExchange(&counts[e], 0u);
    for (var t = 0u; t < tiles_for(rows); t++) {
      plan[(first_tiles[e] + t) * words] = e;
    }
    for (var r = rows; r < tiles_for(rows) * args.tile_rows; r++) { // padding rows of a tile are computed but never read
      plan[(first_tiles[e] + r / args.tile_rows) * words + 1u + r % args.tile_rows] = 0u;
    }
  }
  for (var t = used + local; t < args.tiles; t += WORKGROUP) {
    plan[t * words] = IDLE;
  }
  workgroupBarrier();
  for (var i = local; i < entries; i += WORKGROUP) {
    let e = expert_of(i);
    let r = atomicAdd(&counts[e], 1u);
    let tile = first_tiles[e] + r / args.tile_rows;
    plan[tile * words + 1u + r % args.tile_rows] = i / args.chosen;
    places[i / args.chosen * args.place_stride + i % args.chosen] = tile * args.tile_rows + r % args.tile_rows;
  }
}
