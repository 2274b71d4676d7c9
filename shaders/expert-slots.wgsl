// Names slots instead of experts in a plan of tiles (expert-plan.wgsl): a round computes the tiles whose experts are in a slot, and leaves the
// others to other rounds. An invocation per word.
const WORKGROUP = 64u;
const IDLE = 0xffffffffu;

struct Args {
  tile_words: u32, // words of a tile: the expert, and rows of x
  words: u32,      // those of all tiles
  experts: u32,
}

@group(0) @binding(0) var<storage, read> plan: array<u32>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read> slots: array<u32>; // slot of each expert; IDLE: it is in none
@group(0) @binding(3) var<storage, read_write> slotted: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x;
  if (i >= args.words) {
    return;
  }
  let word = plan[i];
  if (i % args.tile_words != 0u) {
    slotted[i] = word;
    return;
  }
  slotted[i] = select(IDLE, slots[min(word, args.experts - 1u)], word < args.experts);
}
