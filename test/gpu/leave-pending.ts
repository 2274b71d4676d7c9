// A program whose thread ends while promises of Dawn are pending: the thread destroys the device, and with argument `wait` waits for them. The
// exit code is 7 then; without waiting Dawn aborts the process.

import { isMainThread, parentPort, SHARE_ENV, Worker } from 'node:worker_threads';
import { destroyDevices, openDevice } from '../../src/gpu/node.ts';
import { throttlePolling, untilSettled } from '../../src/gpu/polling.ts';

const SHADER =
  '@group(0) @binding(0) var<storage, read_write> x: array<f32>; @compute @workgroup_size(64) fn main() { x[0] = sin(x[1]); }';

if (isMainThread) {
  const thread = new Worker(new URL(import.meta.url), { env: SHARE_ENV, argv: process.argv.slice(2) });
  thread.once('message', () => void thread.terminate().then(() => process.exit(7)));
} else await leaveEarly();

async function leaveEarly(): Promise<void> {
  throttlePolling();
  const { gpu } = await openDevice({ safe: true });
  const failed = (): null => null;
  const pending: Promise<unknown>[] = [];
  gpu.pushErrorScope('validation');
  pending.push(gpu.popErrorScope().catch(failed));
  pending.push(gpu.createBuffer({ size: 4, usage: 0x9 }).mapAsync(1).catch(failed)); // MAP_READ | COPY_DST
  const module = gpu.createShaderModule({ code: SHADER });
  const compute = { module, entryPoint: 'main' };
  pending.push(gpu.createComputePipelineAsync({ layout: 'auto', compute }).catch(failed));
  pending.push(gpu.queue.onSubmittedWorkDone().catch(failed));
  destroyDevices();
  if (process.argv[2] === 'wait') await untilSettled(60_000);
  parentPort!.postMessage('left');
}
