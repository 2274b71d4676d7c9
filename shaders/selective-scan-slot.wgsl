// Selective scan like selective-scan.wgsl, for adapters on which a load costs as much as many multiplications: the state stays in the
// slot, and is read and changed once for a chunk of rows. An invocation per quad of a head's columns. No barriers and no memory of the
// workgroup.
#import "lib/batch.wgsl"
#import "lib/selective-scan-args.wgsl"
#import "lib/softplus.wgsl"

const CHUNK = 8u;

@compute @workgroup_size(8)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let quad = id.x;
  let head = id.y;
  let sequence = sequences[id.z];
  let column = head * args.value_quads + quad;
  let end = sequence.first_row + sequence.rows;
  if (quad >= args.value_quads) {
    let is_padding = head + 1u == args.heads && column < args.y_quads;
    for (var row = sequence.first_row; is_padding && row < end; row++) {
      y[row * args.y_quads + column] = vec4f(0.0);
    }
    return;
  }
  let b = first_b(head);
  let c = b + args.groups * args.state_quads;
  let of_head = sequence.slot * args.state_stride + args.state_first + head * args.state_quads * 4u * args.value_quads;

  var is_fresh = sequence.cached == 0u;
  for (var first = sequence.first_row; first < end; first += CHUNK) {
    let count = min(CHUNK, end - first);
    var fades = array<f32, CHUNK>();
    var own = array<vec4f, CHUNK>(); // step · x of each row
    var out = array<vec4f, CHUNK>();
    for (var i = 0u; i < count; i++) {
      let taken = step_of(first + i, head);
      let value = x[(first + i) * args.x_quads + column];
      fades[i] = taken.x;
      own[i] = taken.y * value;
      out[i] = skips[head] * value;
    }
    for (var d = 0u; d < args.state_quads; d++) {
      var s = array<vec4f, 4>();
      let at = of_head + 4u * d * args.value_quads + quad;
      if (!is_fresh) {
        for (var n = 0u; n < 4u; n++) {
          s[n] = states[at + n * args.value_quads];
        }
      }
      for (var i = 0u; i < count; i++) {
        let into = x[(first + i) * args.x_quads + b + d];
        let from_state = x[(first + i) * args.x_quads + c + d];
        for (var n = 0u; n < 4u; n++) {
          s[n] = fma(vec4f(into[n]), own[i], fades[i] * s[n]);
          out[i] = fma(vec4f(from_state[n]), s[n], out[i]);
        }
      }
      for (var n = 0u; n < 4u; n++) {
        states[at + n * args.value_quads] = s[n];
      }
    }
    for (var i = 0u; i < count; i++) {
      y[(first + i) * args.y_quads + column] = out[i];
    }
    is_fresh = false;
  }
}
