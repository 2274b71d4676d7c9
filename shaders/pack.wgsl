// Packs rows of a checkpoint's matrix into the layout of weights/: one invocation per row and block of 32 k's. Rows are placed at
// columns unit by unit, so that two matrices can be adjacent or interleaved. A convolution's rows [in, kh, kw] are packed tap by
// tap, the channels of each tap padded to whole blocks.
#import "sources/$SOURCE.wgsl"
#import "codes/$W.wgsl"
#import "lib/packed-rows.wgsl"
#import "lib/rolled.wgsl"

const TRANSPOSED = false; // whether `raw` holds k after k, each with the values of all rows, from block args.first_block on
const FRAMES = 1u; // frames of a filter in `raw`
const FRAME = 0u; // the one of them that is packed
const WINOGRAD = false; // whether the nine taps g become the 16 taps of G · g · Gᵀ

// Row r of G: ⟨1 0 0⟩, ⟨½ ½ ½⟩, ⟨½ -½ ½⟩ or ⟨0 0 1⟩; the taps it reads are [first, last].
fn factor(r: u32, i: u32) -> f32 {
  return select(select(0.5, -0.5, r == 2u && i == 1u), 1.0, r == 0u || r == 3u);
}

fn first_tap(r: u32) -> u32 {
  return select(0u, 2u, r == 3u);
}

fn last_tap(r: u32) -> u32 {
  return select(2u, 0u, r == 0u);
}

fn tap(filter_index: u32, t: u32) -> f32 {
  let frame = filter_index * FRAMES + FRAME;
  if (!WINOGRAD) {
    return element(frame * args.taps + t);
  }
  let r = t / 4u;
  let c = t % 4u;
  var sum = 0.0;
  for (var i = first_tap(r); i <= last_tap(r); i++) {
    for (var j = first_tap(c); j <= last_tap(c); j++) {
      sum += factor(r, i) * factor(c, j) * element(frame * 9u + 3u * i + j);
    }
  }
  return sum;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let column = column_of(id.x);
  if (column == NOWHERE) {
    return;
  }
  var values: array<f32, 32>;
  let tap_blocks = args.blocks / args.taps;
  for (var i = loop_start(id.z); i < 32u; i++) {
    let k = id.y % tap_blocks * 32u + i;
    if (k < args.k) {
      values[i] = tap(select(id.x * args.k + k, k * args.rows + id.x, TRANSPOSED), id.y / tap_blocks);
    }
  }
  let block = begin_block(column, args.first_block + id.y, WORDS);
  encode(&values, block, column % 32u);
}
