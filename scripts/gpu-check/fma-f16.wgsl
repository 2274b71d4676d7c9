// The arithmetic limit in f16: eight independent vec4h with four multiply-adds each per turn.
enable f16;

struct Args {
  turns: u32,
}

@group(0) @binding(0) var<storage, read_write> sink: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let m = vec4h(0.5h + 0.0001h * f16(id.x & 63u));
  var a = m;
  var b = m + 1.0h;
  var c = m + 2.0h;
  var d = m + 3.0h;
  var e = m + 4.0h;
  var f = m + 5.0h;
  var g = m + 6.0h;
  var h = m + 7.0h;
  for (var i = 0u; i < args.turns; i++) {
    for (var j = 0u; j < 4u; j++) {
      a = fma(a, m, m);
      b = fma(b, m, m);
      c = fma(c, m, m);
      d = fma(d, m, m);
      e = fma(e, m, m);
      f = fma(f, m, m);
      g = fma(g, m, m);
      h = fma(h, m, m);
    }
  }
  sink[id.x] = vec4f(a + b + c + d + e + f + g + h);
}
