// v / 2 · (1 + erf(v / √2)); erf by two polynomials, each accurate to about an ulp (Njuffa's erff).
fn erf(x: Activated) -> Activated {
  let a = min(abs(x), Activated(4.0)); // erf is 1 beyond 4
  let s = a * a;
  var near = fma(Activated(-5.96761703e-4), s, Activated(4.99119423e-3));
  near = fma(near, s, Activated(-2.67681349e-2));
  near = fma(near, s, Activated(1.12819925e-1));
  near = fma(near, s, Activated(-3.76125336e-1));
  near = fma(near, s, Activated(1.28379166e-1));
  var far = fma(Activated(-1.72853470e-5), a, Activated(3.83197126e-4));
  far = fma(far, s, fma(Activated(-3.88396438e-3), a, Activated(2.42546219e-2)));
  far = fma(far, a, Activated(-1.06777877e-1));
  far = fma(far, a, Activated(-6.34846687e-1));
  far = fma(far, a, Activated(-1.28717512e-1));
  far = 1.0 - exp(fma(far, a, -a));
  return sign(x) * select(far, fma(near, a, a), a < Activated(0.927734375));
}

fn activate(v: Activated) -> Activated {
  return 0.5 * v * (1.0 + erf(0.70710678119 * v));
}
