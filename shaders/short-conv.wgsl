// Causal depthwise convolution over the tokens of each sequence: y[t] = Σ weight[j] · x[t - taps + 1 + j]. Tokens of earlier steps
// are in the sequence's slot; before its first token there are zeros. An invocation per quad of columns and row.
#import "lib/batch.wgsl"
#import "lib/short-conv-args.wgsl"

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> weight: array<vec4f>; // [taps][quads]
@group(0) @binding(2) var<storage, read> rows: array<Row>;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(6) var<storage, read> states: array<vec4f>; // [slots][taps - 1][quads]

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let quad = id.x;
  let row = id.y;
  if (quad >= args.quads) {
    return;
  }
  let sequence = sequences[rows[row].sequence];
  let token = row - sequence.first_row;
  var sum = vec4f(0.0);
  for (var j = 0u; j < args.taps; j++) {
    let back = args.taps - 1u - j;
    if (back <= token) {
      sum = fma(weight[j * args.quads + quad], x[(row - back) * args.quads + quad], sum);
    } else if (sequence.cached > 0u) {
      let kept = sequence.slot * (args.taps - 1u) + token + j;
      sum = fma(weight[j * args.quads + quad], states[kept * args.quads + quad], sum);
    }
  }
  y[row * args.quads + quad] = sum;
}
