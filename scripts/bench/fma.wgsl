// The arithmetic limit: 16 independent chains with four multiply-adds each per iteration, so that neither latency nor the loop
// counts.
struct Args {
  turns: u32,
}

@group(0) @binding(0) var<storage, read_write> sink: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let m = vec4f(0.5 + 1e-9 * f32(id.x));
  var a = m;
  var b = m + 1.0;
  var c = m + 2.0;
  var d = m + 3.0;
  for (var i = 0u; i < args.turns; i++) {
    a = fma(a, m, m);
    b = fma(b, m, m);
    c = fma(c, m, m);
    d = fma(d, m, m);
    a = fma(a, m, m);
    b = fma(b, m, m);
    c = fma(c, m, m);
    d = fma(d, m, m);
    a = fma(a, m, m);
    b = fma(b, m, m);
    c = fma(c, m, m);
    d = fma(d, m, m);
    a = fma(a, m, m);
    b = fma(b, m, m);
    c = fma(c, m, m);
    d = fma(d, m, m);
  }
  sink[id.x] = a + b + c + d;
}
