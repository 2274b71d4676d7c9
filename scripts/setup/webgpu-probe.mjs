// Whether the WebGPU of a browser works: a browser may list WebGPU and have no adapter, or one that computes nothing.

/** Resolves with the promise's value, or with `late` after so many milliseconds. */
export async function within(milliseconds, promise, late) {
  let timer;
  const ended = new Promise((resolve) => {
    timer = setTimeout(() => resolve(late), milliseconds);
  });
  return Promise.race([promise, ended]).finally(() => clearTimeout(timer));
}

/** Runs in the page. Returns why WebGPU cannot be used there, or null. */
export async function computeInPage() {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) return 'it has no WebGPU adapter';
  const device = await adapter.requestDevice();
  const size = 1024;
  const code = `@group(0) @binding(0) var<storage, read_write> squares: array<u32>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { squares[id.x] = id.x * id.x; }`;
  const pipeline = await device.createComputePipelineAsync({
    layout: 'auto',
    compute: { module: device.createShaderModule({ code }) },
  });
  const squares = device.createBuffer({ size, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC });
  const staging = device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  const entries = [{ binding: 0, resource: { buffer: squares } }];
  pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
  pass.dispatchWorkgroups(size / 4 / 64);
  pass.end();
  encoder.copyBufferToBuffer(squares, 0, staging, 0, size);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const isRight = new Uint32Array(staging.getMappedRange()).every((value, i) => value === i * i);
  return isRight ? null : 'its WebGPU computed a wrong result';
}
