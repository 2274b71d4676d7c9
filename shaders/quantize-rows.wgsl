// Rows of x in 8 bits: see lib/rounded-block.wgsl. A lane per block.
#import "lib/rounded-block.wgsl"

struct Args {
  x_quads: u32, // quads from one row of x to the next
  y_quads: u32, // quads of words from one row of y to the next
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;

const LANES = 32u;

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let block = id.x;
  let y0 = id.y * args.y_quads;
  if (8u * block >= args.x_quads) {
    put_padding(y0 + Y_QUADS * block, y0 + args.y_quads);
    return;
  }
  let at = id.y * args.x_quads + 8u * block;
  put_block(y0 + Y_QUADS * block, Values(x[at], x[at + 1u], x[at + 2u], x[at + 3u], x[at + 4u], x[at + 5u], x[at + 6u], x[at + 7u]));
}
