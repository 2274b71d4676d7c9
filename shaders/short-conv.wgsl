// Causal depthwise convolution over the tokens of each sequence: y[t] = Σ weight[j] · x[t - taps + 1 + j]. Tokens of earlier steps
// are in the sequence's slot; before its first token there are zeros. The sum may begin with a bias and pass through an activation. An
// invocation per quad of columns and row.
#import "lib/batch.wgsl"
#import "lib/activate.$ACTIVATION.wgsl"
#import "lib/conv-bias.$BIAS.wgsl"
#import "lib/short-conv-args.wgsl"

alias Activated = vec4f;

@group(0) @binding(1) var<storage, read> weight: array<vec4f>; // [columns][tap_quads]: the taps of a column beside each other
@group(0) @binding(2) var<storage, read> rows: array<Row>;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(6) var<storage, read> states: array<vec4f>; // [slots]: [taps - 1][quads] first

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let quad = id.x;
  let row = id.y;
  if (quad >= args.quads) {
    return;
  }
  let sequence = sequences[rows[row].sequence];
  let token = row - sequence.first_row;
  let w0 = 4u * quad * args.tap_quads;
  var sum = first_sum(quad);
  for (var j = 0u; j < args.taps; j++) {
    let back = args.taps - 1u - j;
    let at = w0 + j / 4u;
    let part = j % 4u;
    let w = vec4f(
      weight[at][part],
      weight[at + args.tap_quads][part],
      weight[at + 2u * args.tap_quads][part],
      weight[at + 3u * args.tap_quads][part],
    );
    if (back <= token) {
      sum = fma(w, input(row - back, quad), sum);
    } else if (sequence.cached > 0u) {
      sum = fma(w, states[sequence.slot * args.slot_quads + (token + j) * args.quads + quad], sum);
    }
  }
  y[row * args.quads + quad] = activate(sum);
}
