// The first of Winograd's three steps for 3×3 convolutions: transforms the 4×4 inputs d of each tile of 2×2 outputs to Bᵀ · d · B,
// whose 16 values go to separate planes. An invocation per tile and quad of channels.
const UPSAMPLED = false;
const EDGES = false; // whether pixels outside the image are the nearest ones of it, not zeros

struct Args {
  quads: u32,       // quads of channels from one pixel to the next
  x_height: u32,
  x_width: u32,
  height: u32,      // height of x as the taps see it, after upsampling
  width: u32,
  tiles_high: u32,  // rows of tiles in an image
  tiles_wide: u32,
  first: u32,       // tiles [first, last), counted over all images
  last: u32,
  plane_tiles: u32, // tiles from one plane to the next
  x_first: u32,     // pixels of x before the binding
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> planes: array<vec4f>;

// A row or column of Bᵀ · d
fn transform(d: array<vec4f, 4>) -> array<vec4f, 4> {
  return array<vec4f, 4>(d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]);
}

// Rows and columns above and to the left of the image wrap round to large numbers.
fn load(image: u32, row: u32, column: u32, quad: u32) -> vec4f {
  var at = vec2u(row, column);
  if (EDGES) {
    at = vec2u(clamp(vec2i(at), vec2i(0), vec2i(i32(args.height), i32(args.width)) - 1));
  } else if (row >= args.height || column >= args.width) {
    return vec4f(0.0);
  }
  if (UPSAMPLED) {
    at = at * vec2u(args.x_height, args.x_width) / vec2u(args.height, args.width);
  }
  return x[((image * args.x_height + at.x) * args.x_width + at.y - args.x_first) * args.quads + quad];
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  let i = id.y * workgroups.x * 64u + id.x;
  let tile = args.first + i / args.quads;
  let quad = i % args.quads;
  if (tile >= args.last) {
    return;
  }
  let image = tile / (args.tiles_high * args.tiles_wide);
  let row0 = tile / args.tiles_wide % args.tiles_high * 2u - 1u;
  let column0 = tile % args.tiles_wide * 2u - 1u;
  var d: array<array<vec4f, 4>, 4>;
  for (var c = 0u; c < 4u; c++) {
    var down: array<vec4f, 4>;
    for (var r = 0u; r < 4u; r++) {
      down[r] = load(image, row0 + r, column0 + c, quad);
    }
    d[c] = transform(down);
  }
  for (var r = 0u; r < 4u; r++) {
    let across = transform(array<vec4f, 4>(d[0][r], d[1][r], d[2][r], d[3][r]));
    for (var c = 0u; c < 4u; c++) {
      planes[((4u * r + c) * args.plane_tiles + tile - args.first) * args.quads + quad] = across[c];
    }
  }
}
