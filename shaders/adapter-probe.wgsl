// Tests conversions of halves and the lanes of subgroups, on which kernels rely, before any kernel runs. Each invocation converts one half and,
// if there are subgroups, writes where in its subgroup it is. sink[invocation] has five words: the half as f32, the half that its f32 gives back, the
// size of the subgroup, the lane in it, and 1 if the lanes' values arrive where kernels expect them.
#import "lib/probed-lanes.$SUBGROUPS.wgsl"

const INVOCATIONS = 64u;
const WORDS = 5u;

@group(0) @binding(0) var<storage, read> source: array<vec2u>; // a half, and its value as f32
@group(0) @binding(1) var<storage, read_write> sink: array<u32>;

@compute @workgroup_size(INVOCATIONS)
fn main(@builtin(local_invocation_index) i: u32, lanes: Lanes) {
  let given = source[i];
  let probed = probe_lanes(lanes, i);
  sink[i * WORDS] = bitcast<u32>(unpack2x16float(given.x).x);
  sink[i * WORDS + 1u] = pack2x16float(vec2f(bitcast<f32>(given.y), 0.0)) & 0xffffu;
  sink[i * WORDS + 2u] = probed.x;
  sink[i * WORDS + 3u] = probed.y;
  sink[i * WORDS + 4u] = probed.z;
}
