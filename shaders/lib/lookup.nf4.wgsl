// The 16 values of bitsandbytes' NF4, by ascending code. A tree of selections, because drivers keep an array that is indexed at run time in memory.
fn pick(code: vec4u) -> vec4f {
  let bit0 = (code & vec4u(1u)) != vec4u(0u);
  let bit1 = (code & vec4u(2u)) != vec4u(0u);
  let bit2 = (code & vec4u(4u)) != vec4u(0u);
  let bit3 = (code & vec4u(8u)) != vec4u(0u);
  let v0 = select(vec4f(-1.0), vec4f(-0.6961928009986877), bit0);
  let v2 = select(vec4f(-0.5250730514526367), vec4f(-0.39491748809814453), bit0);
  let v4 = select(vec4f(-0.28444138169288635), vec4f(-0.18477343022823334), bit0);
  let v6 = select(vec4f(-0.09105003625154495), vec4f(0.0), bit0);
  let v8 = select(vec4f(0.07958029955625534), vec4f(0.16093020141124725), bit0);
  let v10 = select(vec4f(0.24611230194568634), vec4f(0.33791524171829224), bit0);
  let v12 = select(vec4f(0.44070982933044434), vec4f(0.5626170039176941), bit0);
  let v14 = select(vec4f(0.7229568362236023), vec4f(1.0), bit0);
  let w0 = select(v0, v2, bit1);
  let w4 = select(v4, v6, bit1);
  let w8 = select(v8, v10, bit1);
  let w12 = select(v12, v14, bit1);
  return select(select(w0, w4, bit2), select(w8, w12, bit2), bit3);
}
