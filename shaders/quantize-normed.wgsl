// Rows of x under an RMSNorm, in 8 bits: see lib/rounded-block.wgsl. A workgroup per row, whose lanes add squares, then take a block each.
#import "lib/rounded-block.wgsl"
#import "lib/squares.wgsl"

struct Args {
  blocks: u32,  // of 32 columns
  columns: u32,
  y_quads: u32, // quads of words from one row of y to the next
  eps: f32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read> weight: array<vec4f>;

const LANES = 256u;

var<workgroup> squares: array<f32, LANES>;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let x0 = workgroup.x * args.blocks * 8u;
  var square = 0.0;
  for (var quad = local; quad < args.blocks * 8u; quad += LANES) {
    square = with_squares(square, x[x0 + quad]);
  }
  squares[local] = square;
  for (var half = LANES / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (local < half) {
      squares[local] += squares[local + half];
    }
  }
  workgroupBarrier();
  let rate = rate_of(squares[0]);
  let y0 = workgroup.x * args.y_quads;
  for (var block = local; Y_QUADS * block < args.y_quads; block += LANES) {
    if (block >= args.blocks) {
      put_padding(y0 + Y_QUADS * block, y0 + args.y_quads);
      continue;
    }
    var v = Values();
    for (var i = 0u; i < 8u; i++) {
      let quad = 8u * block + i;
      v[i] = x[x0 + quad] * rate * weight[quad];
    }
    put_block(y0 + Y_QUADS * block, v);
  }
}
