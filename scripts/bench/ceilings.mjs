// Upper limits of the adapter, measured in this run: multiply-adds per second, and bytes per second of storage loads. On a software
// adapter other programs share the cores, so a rate is also given for idle cores: work ÷ CPU time of this process × cores.

import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

const CHAINS = 16;
const PER_TURN = 4;
/** Work of a software adapter, which it does in some tens of milliseconds. */
const SOFTWARE = { fma: { workgroups: 128, turns: 1500 }, loads: { workgroups: 512, turns: 64 } };
/** Work of a GPU: enough workgroups for all its lanes, and more bytes (1 GiB) than its caches hold. */
const GPU = { fma: { workgroups: 16384, turns: 1500 }, loads: { workgroups: 8192, turns: 64 } };
const REPEATS = 6;
const STORAGE = 0x80;
const UNIFORM = 0x40 | 0x8;

/** Wall and CPU milliseconds of `work`; CPU as if all cores had been idle. */
export async function stopwatch(work) {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await work();
  const wall = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return { wall, quiet: (user + system) / 1000 / availableParallelism() };
}

/** @returns {Promise<{ gflops: number, gbytes: number }>} the best of several; on a software adapter (`quiet`) for idle cores */
export async function measureCeilings(gpu, quiet) {
  const work = quiet ? SOFTWARE : GPU;
  const fma = await best(gpu, 'fma.wgsl', work.fma, quiet);
  const loads = await best(gpu, 'loads.wgsl', work.loads, quiet);
  const invocations = work.fma.workgroups * 64;
  return {
    gflops: (2 * CHAINS * PER_TURN * work.fma.turns * invocations) / fma / 1e6,
    gbytes: (16 * 2 * work.loads.turns * work.loads.workgroups * 64) / loads / 1e6,
  };
}

/** Milliseconds of one dispatch. */
async function best(gpu, file, { workgroups, turns }, quiet) {
  const code = readFileSync(new URL(file, import.meta.url), 'utf8');
  const pipeline = gpu.createComputePipeline({
    layout: 'auto',
    compute: { module: gpu.createShaderModule({ code }) },
  });
  const args = gpu.createBuffer({ size: 16, usage: UNIFORM });
  gpu.queue.writeBuffer(args, 0, new Uint32Array([turns, 0, 0, 0]));
  const sink = gpu.createBuffer({ size: workgroups * 64 * 16, usage: STORAGE });
  const buffers = [sink, args];
  if (code.includes('source')) {
    buffers.push(gpu.createBuffer({ size: 16 * 2 * turns * workgroups * 64, usage: STORAGE | 0x8 }));
  }
  const bindGroup = gpu.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer } })),
  });
  let least = Infinity;
  for (let i = 0; i <= REPEATS; i++) {
    const time = await stopwatch(async () => {
      const encoder = gpu.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, bindGroup);
      pass.dispatchWorkgroups(workgroups);
      pass.end();
      gpu.queue.submit([encoder.finish()]);
      await gpu.queue.onSubmittedWorkDone();
    });
    if (i > 0) least = Math.min(least, quiet ? time.quiet : time.wall); // the first one compiles
  }
  for (const buffer of buffers) buffer.destroy();
  return least;
}
