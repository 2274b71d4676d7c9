// Adapters, budgets, reading back, and errors that must not get lost.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Device } from '../../src/gpu/device.ts';
import { listAdapters, openDevice, readShader } from '../../src/gpu/node.ts';
import { tapeOf, Tape } from '../../src/gpu/tape.ts';
import { paddedColumns } from '../../src/gpu/tensor.ts';
import { disguise, openTestDevice, TEST_BUDGET, type Disguise } from './test-device.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

describe('adapters of the machine', () => {
  it('are listed with what they can do', async () => {
    const adapters = await listAdapters();
    expect(adapters.length).toBeGreaterThan(0);
    adapters.forEach((adapter, i) => {
      expect(adapter.index).toBe(i);
      expect(adapter.description + adapter.device).not.toBe('');
      expect(adapter.limits['maxBufferSize']).toBeGreaterThanOrEqual(256 << 20);
      expect(adapter.subgroupMaxSize).toBeGreaterThanOrEqual(adapter.subgroupMinSize);
    });
    // Plain data: it goes to another thread as a message.
    expect(structuredClone(adapters)).toEqual(adapters);
  });

  it('are chosen by index or by part of a name, in any case', async () => {
    const [first] = await listAdapters();
    const word = first!.description.split(/[ :]/)[0]!;
    for (const adapter of ['0', word.toUpperCase(), word.toLowerCase()]) {
      const chosen = await openDevice({ adapter, memoryBudget: 1 << 20 });
      expect(chosen.summary.description).toBe(first!.description);
      chosen.destroy();
    }
  });

  it('that are not there are answered with those that are', async () => {
    const [first] = await listAdapters();
    const refusal = openDevice({ adapter: 'Voodoo 2' });
    await expect(refusal).rejects.toMatchObject({ code: 'bad_request', param: 'adapter' });
    await expect(refusal).rejects.toThrow(
      `adapter Voodoo 2 matches none of this machine: choose one of 0: ${first!.description}`,
    );
    await expect(openDevice({ adapter: '99' })).rejects.toThrow('adapter 99 matches none');
  });

  it('lend lanes only where subgroups are surely large enough', () => {
    const hasSubgroups = device.gpu.features.has('subgroups');
    const lanes = (sizes: object) => disguise(device, sizes).capabilities.lanes;
    expect(lanes({ portable: true })).toBe(1);
    expect(lanes({ lanes: 0 })).toBe(1);
    expect(lanes({ lanes: 2 })).toBe(1);
    expect(lanes({ lanes: 4 })).toBe(hasSubgroups ? 4 : 1);
    expect(lanes({ lanes: 64 })).toBe(hasSubgroups ? 16 : 1);
    const columnLanes = (as: Disguise) => disguise(device, as).capabilities.columnLanes;
    expect(columnLanes({ largestSubgroup: 64 })).toBe(64);
    expect(columnLanes({ largestSubgroup: 4 })).toBe(8);
    expect(columnLanes({ largestSubgroup: 8, profile: 'integrated' })).toBe(32);
    expect(columnLanes({ largestSubgroup: 64, profile: 'discrete' })).toBe(64);
    expect(disguise(device, { bindingLimit: 1000 }).capabilities.bindingLimit).toBe(1000);
  });
});

describe('the memory budget of a device', () => {
  it('is what allocations are held against, by what they are for', () => {
    const small = disguise(device, { memoryBudget: 3 << 20 });
    const weights = small.allocate('weights', 'a', 1 << 20);
    const kv = small.allocate('kv', 'b', 1000);
    expect(small.memory()).toEqual({ weights: 1 << 20, kv: 1024, arena: 0, step: 0 });
    expect(() => small.allocate('weights', 'lm_head.weight', 2 << 20)).toThrow(
      'lm_head.weight needs 2 MiB, but of the memory budget of 3 MiB only 2.0 MiB are free: ' +
        'free some of it, or open the device with a larger budget',
    );
    small.free(weights);
    small.free(weights);
    expect(small.memoryUsed).toBe(1024);
    small.free(kv);
    expect(small.memoryUsed).toBe(0);
    expect(small.allocate('weights', 'c', 3 << 20).size).toBe(3 << 20);
  });

  it('refuses with out_of_memory, as does the largest buffer', () => {
    const refusal = (bytes: number, memoryBudget: number) => {
      try {
        disguise(device, { memoryBudget }).allocate('kv', 'pages', bytes);
      } catch (error) {
        return error;
      }
      return null;
    };
    const { maxBufferSize } = device.capabilities;
    expect(refusal(2048, 1024)).toMatchObject({ code: 'out_of_memory' });
    expect(refusal(maxBufferSize + 1, 2 ** 50)).toMatchObject({
      code: 'out_of_memory',
      message: expect.stringMatching(/pages needs one buffer of .* GiB, the adapter allows .* GiB/) as string,
    });
  });

  it('that was guessed grows by trying, one that was asked for does not', async () => {
    const settings = { shaders: readShader, summary: device.summary, memoryBudget: 1 << 20 };
    const asked = new Device(device.gpu, settings);
    const guessed = new Device(device.gpu, { ...settings, mayGrow: true });
    expect(await asked.reserve(1 << 20)).toBe(true);
    expect(await asked.reserve(2 << 20)).toBe(false);
    expect(await guessed.reserve(2 << 20)).toBe(true);
    expect([asked.memoryBudget, guessed.memoryBudget]).toEqual([1 << 20, 2 << 20]);
    expect(guessed.memoryUsed).toBe(0);
  });
});

describe('tensors of a device', () => {
  it('pad their rows with zeros', async () => {
    const x = device.tensor('weights', 'x', [2, 3], Float32Array.from([1, 2, 3, 4, 5, 6]));
    const floats = Array.from(new Float32Array(await device.read(x.region!)));
    const zeros = (count: number) => new Array<number>(count).fill(0);
    expect(floats).toEqual([1, 2, 3, ...zeros(29), 4, 5, 6, ...zeros(29), ...zeros(64)]);
    expect([1, 31, 32, 33, 64].map(paddedColumns)).toEqual([32, 32, 32, 64, 64]);
  });

  it('are read from where their region begins', async () => {
    const buffer = device.allocate('step', 'words', 1024);
    device.gpu.queue.writeBuffer(
      buffer,
      0,
      Uint32Array.from({ length: 256 }, (_, i) => i),
    );
    const words = new Uint32Array(await device.read({ buffer, offset: 512, size: 12 }));
    expect(Array.from(words)).toEqual([128, 129, 130]);
  });

  it('of no tape are an assertion of a launcher', () => {
    const x = device.tensor('weights', 'x', [2, 3], new Float32Array(6));
    expect(() => tapeOf(x)).toThrow('a tensor of shape [2, 3] belongs to no tape');
    expect(() => new Tape(device, {}).tensor([3, 'rows']).columns).toThrow(
      'the last dimension of [3, rows] is not fixed',
    );
  });
});

describe('errors of a device', () => {
  it('that no scope caught are reported once, the first of them', async () => {
    expect(device.takeError()).toBeNull();
    for (const label of ['first', 'second']) {
      device.gpu.createBuffer({ label, size: 16, usage: 0x1 | 0x80 }); // MAP_READ | STORAGE: not allowed
    }
    await device.gpu.queue.onSubmittedWorkDone();
    expect(device.takeError()?.message).toMatch(/first/);
    expect(device.takeError()).toBeNull();
  });

  it('of a shader have its file, line and parameters', async () => {
    const files: Record<string, string> = {
      'main.wgsl': '#import "lib/broken.wgsl"\n@compute @workgroup_size(1)\nfn main() { broken(); }',
      'lib/broken.wgsl': 'const ROWS = 1u;\nfn broken() {\n  let x: f32 = ROWS;\n}',
      'right.wgsl': '@compute @workgroup_size(1)\nfn main() {}',
      'large.wgsl': '@compute @workgroup_size(100000)\nfn main() {}',
    };
    const on = new Device(device.gpu, {
      shaders: (path) => files[path]!,
      summary: device.summary,
      memoryBudget: 0,
    });
    expect(await on.diagnose('main.wgsl', { ROWS: 3 })).toEqual([
      expect.stringMatching(/^lib\/broken\.wgsl:3 \{ROWS: 3\}: /) as string,
    ]);
    expect(await on.diagnose('large.wgsl')).toEqual([expect.stringMatching(/^large\.wgsl: /) as string]);
    expect(await on.diagnose('right.wgsl')).toEqual([]);
    expect(device.takeError()).toBeNull();
  });

  it('of other causes are reported while a shader is diagnosed', async () => {
    const diagnosing = device.diagnose('widen.wgsl', { SOURCE: 'f32' });
    device.gpu.createBuffer({ label: 'other', size: 16, usage: 0x1 | 0x80 });
    expect(await diagnosing).toEqual([]);
    await device.gpu.queue.onSubmittedWorkDone();
    expect(device.takeError()?.message).toMatch(/other/);
  });

  it('pipelines are made once for the same parameters', () => {
    const on = new Device(device.gpu, {
      shaders: readShader,
      summary: device.summary,
      memoryBudget: 0,
    });
    const first = on.pipeline('widen.wgsl', { SOURCE: 'f16' });
    expect(on.pipeline('widen.wgsl', { SOURCE: 'f16' })).toBe(first);
    expect(on.pipeline('widen.wgsl', { SOURCE: 'f32' })).not.toBe(first);
  });

  it('a lost device reports its loss', async () => {
    const gone = await openTestDevice();
    gone.destroy();
    expect(await gone.lost).not.toBe('');
  });
});

describe('the loss of a device', () => {
  it('is denied by one that works, before its queued work is done', async () => {
    const source = device.allocate('step', 'source', 2 ** 24);
    const target = device.allocate('step', 'target', 2 ** 24);
    const encoder = device.gpu.createCommandEncoder();
    for (let i = 0; i < 200; i++) encoder.copyBufferToBuffer(source, 0, target, 0, 2 ** 24);
    device.gpu.queue.submit([encoder.finish()]);
    const order: string[] = [];
    const work = device.gpu.queue.onSubmittedWorkDone().then(() => order.push('work'));
    expect(await device.loss()).toBeNull();
    order.push('answer');
    await work;
    expect(order).toEqual(['answer', 'work']);
    device.free(source);
    device.free(target);
  });

  it('is known as soon as an operation fails, and later', async () => {
    // A device of its own: kept ones stay open behind their loss.
    const gone = await openDevice({ safe: true, memoryBudget: TEST_BUDGET });
    const { region } = gone.tensor('step', 'x', [4], new Float32Array(4));
    gone.destroy();
    await expect(gone.read(region!)).rejects.toThrow();
    const reason = await gone.loss();
    expect(reason).toBe(await gone.lost);
    expect(await gone.loss()).toBe(reason);
  });

  it('is not taken from a failure for want of memory', async () => {
    const failed = Object.assign(new Error('no memory'), { name: 'OperationError' });
    const buffer = { mapAsync: () => Promise.reject(failed), destroy: () => {} };
    const full = { gpu: { createBuffer: () => buffer } } as unknown as Device;
    expect(await Device.prototype.loss.call(full)).toBeNull();
  });
});
