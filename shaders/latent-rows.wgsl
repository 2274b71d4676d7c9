// Latents out of the pages of a segment, as rows: the normed dimensions, and apart from them those that are rotated. An invocation takes four dimensions of
// four tokens.
#import "kv/read-keys.$KV.wgsl"

const WORKGROUP = 64u;

struct Args {
  dims: u32,          // dimensions of a latent in pages, with those that are rotated
  normed_quads: u32,  // quads of dimensions of the normed ones
  y_quads: u32,       // quads of columns from one row to the next
  rotated_quads: u32, // the same of rotated ones
  first_page: u32,    // of the segment, counted over the tables of all sequences
}

@group(0) @binding(0) var<storage, read> pages: array<u32>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> rotated: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let four = id.x % 8u;
  let quad = id.x / 8u;
  if (quad >= args.y_quads + args.rotated_quads) {
    return;
  }
  let is_normed = quad < args.y_quads;
  let at = select(quad - args.y_quads, quad, is_normed); // beyond a row's columns: padding
  let from_quad = select(args.normed_quads + at, at, is_normed);
  let inside = from_quad < select(args.dims / 4u, args.normed_quads, is_normed);
  let columns = key_quads(pages[args.first_page + id.y], select(0u, from_quad, inside), args.dims, four);
  for (var u = 0u; u < 4u; u++) {
    let row = id.y * 32u + four * 4u + u;
    let value = select(vec4f(0.0), vec4f(columns[0][u], columns[1][u], columns[2][u], columns[3][u]), inside);
    if (is_normed) {
      y[row * args.y_quads + at] = value;
    } else {
      rotated[row * args.rotated_quads + at] = value;
    }
  }
}
