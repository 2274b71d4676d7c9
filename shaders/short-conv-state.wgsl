// Keeps the last taps - 1 tokens of each sequence in its slot, after short-conv.wgsl has read the previous ones. An invocation per
// quad of columns and sequence; it moves its own values in place, earlier tokens first.
#import "lib/batch.wgsl"
#import "lib/short-conv-args.wgsl"

@group(0) @binding(6) var<storage, read_write> states: array<vec4f>; // [slots]: [taps - 1][quads] first

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let quad = id.x;
  if (quad >= args.quads) {
    return;
  }
  let sequence = sequences[id.y];
  let kept = args.taps - 1u;
  let slot = sequence.slot * args.slot_quads + quad;
  for (var j = 0u; j < kept; j++) {
    var value = vec4f(0.0);
    if (sequence.rows + j >= kept) {
      value = input(sequence.first_row + sequence.rows + j - kept, quad);
    } else if (sequence.cached > 0u) {
      value = states[slot + (sequence.rows + j) * args.quads];
    }
    states[slot + j * args.quads] = value;
  }
}
