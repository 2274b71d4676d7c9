// Rows of a matrix that a file holds in codes into the packed layout of weights/: the codes and scales stay, bit for bit. One invocation
// a row and block of 32 k's.
#import "codes/stored/$W.wgsl"
#import "lib/packed-rows.wgsl"

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let column = column_of(id.x);
  if (column == NOWHERE) {
    return;
  }
  let first = id.x * args.k + id.y * 32u; // value of `raw`
  let at = first / VALUES * BYTES;
  let b = first % VALUES / 32u;
  let block = begin_block(column, id.y, WORDS);
  put_codes(at, b * 32u);
  put_scales(at, b, block, column % 32u);
}
