// The limit of dot4I8Packed: 16 independent sums with four products of four pairs each per turn.
requires packed_4x8_integer_dot_product;

struct Args {
  turns: u32,
}

@group(0) @binding(0) var<storage, read_write> sink: array<vec4i>;
@group(0) @binding(1) var<uniform> args: Args;

fn dots(sums: vec4i, m: u32) -> vec4i {
  return sums + vec4i(
    dot4I8Packed(bitcast<u32>(sums.x), m),
    dot4I8Packed(bitcast<u32>(sums.y), m),
    dot4I8Packed(bitcast<u32>(sums.z), m),
    dot4I8Packed(bitcast<u32>(sums.w), m),
  );
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let m = 0x03050709u + id.x;
  var a = vec4i(bitcast<i32>(m));
  var b = a + 1;
  var c = a + 2;
  var d = a + 3;
  for (var i = 0u; i < args.turns; i++) {
    for (var j = 0u; j < 4u; j++) {
      a = dots(a, m);
      b = dots(b, m);
      c = dots(c, m);
      d = dots(d, m);
    }
  }
  sink[id.x] = a + b + c + d;
}
