// Arguments of the kernels of dense attention. If a tensor exceeds a binding, a dispatch covers one item's queries or
// keys strip by strip; rows are counted from the first one in the binding.
#import "lib/seen-keys.wgsl"

struct Args {
  first_item: u32, // items before this dispatch
  queries: u32,    // queries of an item, in this strip
  first_query: u32, // queries of the item before this strip
  keys: u32,       // keys of an item, in this strip
  first_key: u32,
  heads: u32,
  share: u32,      // query heads per key head
  dims: u32,       // dimensions of a head
  parts: u32,      // workgroups among which a head's dimensions are divided
  q_row: u32,      // row of q at which the first item begins
  q_quads: u32,    // quads of columns from one row of q to the next
  q_first: u32,    // first quad of q's heads
  k_row: u32,
  k_quads: u32,
  k_first: u32,
  v_row: u32,
  v_quads: u32,
  v_first: u32,
  y_row: u32,
  y_quads: u32,
  causal: u32,     // whether a query sees only keys up to its own position
  bias_zero: u32,  // row of `biases` for a key at its query's place
  bias_stride: u32, // values from one row of `biases` to the next
  bias_row: u32,   // row of `biases` for the first query, where each has one
  grid_rows: u32,  // of the grid in which keys lie
  grid_columns: u32,
  block_planes: u32, // rows of `seen_blocks` from one head to the next; 0: all heads share them
  block_words: u32,
  scale: f32,      // factor on q: the scores' scale times log2(e), because the softmax uses powers of two
}

@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<uniform> args: Args;
