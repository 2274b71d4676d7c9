// The last of Winograd's three steps: transforms the 4×4 products m of a tile to its 2×2 outputs Aᵀ · m · A, and applies the
// epilogue of the convolution. An invocation per tile and quad of columns.
#import "lib/addend.$ADDEND.wgsl"
#import "lib/residual.$RESIDUAL.wgsl"
#import "lib/activation.wgsl"

struct Args {
  y_quads: u32,     // quads of columns from one pixel to the next
  image_quads: u32, // quads from the vector of one image to that of the next
  image_first: u32, // quad at which the vector begins
  columns: u32,     // output channels
  y_height: u32,
  y_width: u32,
  tiles_high: u32,  // rows of tiles in an image
  tiles_wide: u32,
  first: u32,       // tiles [first, last), counted over all images
  last: u32,
  plane_tiles: u32, // tiles from one plane to the next
  y_first: u32,     // pixels of y before the binding
}

@group(0) @binding(0) var<storage, read> planes: array<vec4f>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

// A row or column of Aᵀ · m
fn transform(m: array<vec4f, 4>) -> array<vec4f, 2> {
  return array<vec4f, 2>(m[0] + m[1] + m[2], m[1] - m[2] - m[3]);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  let i = id.y * workgroups.x * 64u + id.x;
  let tile = args.first + i / args.y_quads;
  let quad = i % args.y_quads;
  if (tile >= args.last) {
    return;
  }
  let image = tile / (args.tiles_high * args.tiles_wide);
  let row0 = tile / args.tiles_wide % args.tiles_high * 2u;
  let column0 = tile % args.tiles_wide * 2u;
  var rows: array<array<vec4f, 2>, 4>;
  for (var c = 0u; c < 4u; c++) {
    var down: array<vec4f, 4>;
    for (var r = 0u; r < 4u; r++) {
      down[r] = planes[((4u * r + c) * args.plane_tiles + tile - args.first) * args.y_quads + quad];
    }
    rows[c] = transform(down);
  }
  let shift = addend(image, quad);
  for (var r = 0u; r < 2u; r++) {
    let across = transform(array<vec4f, 4>(rows[0][r], rows[1][r], rows[2][r], rows[3][r]));
    for (var c = 0u; c < 2u; c++) {
      if (row0 + r < args.y_height && column0 + c < args.y_width) {
        let pixel = (image * args.y_height + row0 + r) * args.y_width + column0 + c;
        let at = (pixel - args.y_first) * args.y_quads + quad;
        y[at] = activate(across[c] + shift + residual_at(at));
      }
    }
  }
}
