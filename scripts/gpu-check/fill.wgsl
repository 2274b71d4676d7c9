// Fills a buffer with random bits, of which some are fixed.
struct Args {
  words: u32,
  and: u32,
  or: u32,
}

@group(0) @binding(0) var<storage, read_write> filled: array<u32>;
@group(0) @binding(1) var<uniform> args: Args;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < args.words; i += 256u * groups.x) {
    var bits = i * 747796405u + 2891336453u;
    bits = ((bits >> ((bits >> 28u) + 4u)) ^ bits) * 277803737u;
    filled[i] = (((bits >> 22u) ^ bits) & args.and) | args.or;
  }
}
