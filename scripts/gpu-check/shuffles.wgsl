// The limit of shuffles: eight independent numbers, each taken from another lane twice a turn.
enable subgroups;

struct Args {
  turns: u32,
}

@group(0) @binding(0) var<storage, read_write> sink: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(subgroup_invocation_id) lane: u32) {
  var a = vec4f(f32(id.x));
  var b = a + 1.0;
  for (var i = 0u; i < args.turns; i++) {
    let other = (lane + i) & 3u;
    for (var j = 0u; j < 2u; j++) {
      a += vec4f(
        subgroupShuffle(a.x, other),
        subgroupShuffle(a.y, other),
        subgroupShuffle(a.z, other),
        subgroupShuffle(a.w, other),
      );
      b += vec4f(
        subgroupShuffle(b.x, other),
        subgroupShuffle(b.y, other),
        subgroupShuffle(b.z, other),
        subgroupShuffle(b.w, other),
      );
    }
  }
  sink[id.x] = a + b;
}
