// Contiguous reading: all invocations of the dispatch read neighbouring vec4u, four loads a turn, none of which waits for another.
struct Args {
  turns: u32,
}

@group(0) @binding(0) var<storage, read_write> sink: array<vec4u>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read> source: array<vec4u>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let all = groups.x * 256u;
  var a = vec4u(0u);
  var b = vec4u(0u);
  var c = vec4u(0u);
  var d = vec4u(0u);
  for (var i = 0u; i < args.turns; i++) {
    let at = 4u * i * all + id.x;
    a ^= source[at];
    b ^= source[at + all];
    c ^= source[at + 2u * all];
    d ^= source[at + 3u * all];
  }
  sink[id.x] = a + b + c + d;
}
