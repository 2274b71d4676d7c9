import { describe, expect, it } from 'vitest';
import { describeAdapter, describeSupported, verdict } from '../../../src/cli/doctor/doctor.ts';
import { asksForTuning, describeTuned } from '../../../src/cli/doctor/doctor-tune.ts';
import { remarksOn } from '../../../src/engine/check/probe.ts';
import type { AdapterSummary } from '../../../src/gpu/adapter.ts';
import type { ProbedAdapter } from '../../../src/gpu/adapter-probe.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { SUPPORTED, type KernelCheck } from '../../../src/index.ts';
import { remedies, type System } from '../../../src/cli/doctor/remedy.ts';
import { fakeInfo } from '../../server/fake-model.ts';

const right = { ok: true, problem: null, remarks: [], milliseconds: 12.3 };
const wrong = { ok: false, problem: 'a matmul is off by 3', remarks: [], milliseconds: 9 };
const gpu = {
  ...fakeInfo.adapter,
  software: false,
  description: 'Driver 1.2',
  features: ['shader-f16', 'subgroups'],
  limits: {
    maxStorageBufferBindingSize: 128 * 2 ** 20,
    maxBufferSize: 2 ** 30,
    maxComputeWorkgroupStorageSize: 32768,
    maxComputeInvocationsPerWorkgroup: 256,
  },
};

describe('an adapter', () => {
  it('is described with driver, features, what is missing, limits and the probe', () => {
    expect(describeAdapter({ adapter: gpu, probe: right }).split('\n')).toEqual([
      'Adapter 0: fake device',
      '  vendor     fake',
      '  driver     Driver 1.2',
      '  features   shader-f16, subgroups',
      '  missing    timestamp-query: times per kernel',
      '  subgroups  4 to 4',
      '  matrices   none: software adapters have none',
      '  limits     128 MiB a binding, 1 GiB a buffer, 32 KiB shared, 256 invocations',
      '  probe      right, in 12 ms',
    ]);
  });

  it('is shown with the matrix unit that its kernels use', () => {
    const matrixUnit = { rows: 16, columns: 16, depth: 16, subgroup: 32, pinned: false };
    expect(describeAdapter({ adapter: { ...gpu, matrixUnit }, probe: right })).toContain(
      '  matrices   16 × 16 × 16, f16 summed in f32, in subgroups of 32\n',
    );
  });

  it('that miscomputes is shown with the reason', () => {
    expect(describeAdapter({ adapter: gpu, probe: wrong })).toContain('FAILED: a matmul is off by 3');
  });
});

describe('kernels', () => {
  const good = { name: 'RMSNorm', kernels: ['rmsnorm.wgsl'], ok: true, problem: null, milliseconds: 900 };
  const problem = 'value 7 is 3 instead of 4';
  const bad = { ...good, name: 'product in int4', kernels: ['gemm.wgsl'], ok: false, problem };
  const lines = (kernels: KernelCheck[]) =>
    describeAdapter({ adapter: gpu, probe: right, kernels }).split('\n');

  it('are counted, and those that are wrong are named', () => {
    expect(lines([good, good]).at(-1)).toBe('  kernels    2 of 2 checks right, in 1.8 s');
    expect(lines([good, bad]).slice(-2)).toEqual([
      '  kernels    1 of 2 checks right, in 1.8 s',
      '  WRONG      product in int4 (gemm.wgsl): value 7 is 3 instead of 4',
    ]);
  });

  it('that are wrong make an adapter unusable, and the remedy is told', () => {
    const { healthy, complaint } = verdict([{ adapter: gpu, probe: right, kernels: [good, bad] }]);
    expect(healthy).toBe(false);
    expect(complaint).toContain('--backend generic');
    expect(verdict([{ adapter: gpu, probe: right, kernels: [good] }]).healthy).toBe(true);
  });

  it('that do without something have a note', () => {
    const probed = { keepsSubnormalHalves: false, subgroupProblem: 'subgroups have 64 lanes' };
    const unit = { ...gpu, matrixUnit: { rows: 16, columns: 16, depth: 16, subgroup: 32, pinned: false } };
    const device = (own: ProbedAdapter, summary: AdapterSummary) =>
      ({ probed: own, summary, capabilities: { matrixUnit: null } }) as unknown as Device;
    const probe = { ...right, remarks: remarksOn(device(probed, unit)) };
    const notes = describeAdapter({ adapter: gpu, probe }).split('\n').slice(-3);
    expect(notes[0]).toMatch(/^ {2}note {7}it takes subnormal f16 numbers for zero: kernels convert/);
    expect(notes[1]).toMatch(/^ {2}note {7}subgroups have 64 lanes: kernels use no subgroups/);
    expect(notes[2]).toMatch(
      /^ {2}note {7}its matrix unit does not compile or computes something else: prompts/,
    );
    expect(remarksOn(device({ keepsSubnormalHalves: true, subgroupProblem: null }, gpu))).toEqual([]);
  });
});

describe('tuning', () => {
  it('is asked for with a model', () => {
    expect(asksForTuning({})).toBe(false);
    expect(asksForTuning({ quantization: 'none' })).toBe(false);
    expect(asksForTuning({ tune: true, 'model-path': 'm', quantization: 'int4' })).toBe(true);
  });

  it.each([
    [{ tune: true }, /^--tune needs --model-path/],
    [{ 'model-path': 'm' }, /^--model-path is for --tune: add --tune, or leave it out/],
    [{ quantization: 'int4' as const }, /^--quantization is for --tune/],
    [{ tune: true, 'model-path': 'm', kernels: true }, /^--kernels and --tune are two runs/],
  ])('%j is refused', (options, message) => {
    expect(() => asksForTuning(options)).toThrow(message);
  });

  it('tells what it found', () => {
    const tuned = { kernels: 8, changed: 3, before: 10, after: 7.26, isWhole: true };
    const whole = 'm: of 8 kernels 3 are faster in other tiles, 7.3 instead of 10.0 ms for all of them';
    expect(describeTuned('m', tuned)).toBe(whole);
    expect(describeTuned('m', { ...tuned, isWhole: false })).toMatch(/; the search ended before all/);
    const none = { kernels: 0, changed: 0, before: 0, after: 0 };
    expect(describeTuned('m', { ...none, isWhole: true })).toMatch(/^m: all kernels .* were tuned before/);
    expect(describeTuned('m', { ...none, isWhole: false })).toMatch(/^m: nothing is tuned, because the time/);
  });
});

describe('the list of models that open', () => {
  /** The names of each group. */
  const groups = new Map<string, string[]>();
  const lines = describeSupported(SUPPORTED).split('\n');
  let label = '';
  for (const line of lines.slice(1)) {
    label = line.slice(2, 17).trim() || label;
    const names = line.slice(17).split(/, ?/).filter(Boolean);
    groups.set(label, [...(groups.get(label) ?? []), ...names]);
  }

  it('is printed in groups, in lines that fit a terminal', () => {
    expect([...groups.keys()]).toEqual([
      'text',
      'text and media',
      'embeddings',
      'transcription',
      'images',
      'tensors',
      'of images',
      'quantized by',
      'quantized to',
    ]);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(100);
    const all = [...groups.values()].flat();
    expect(all.filter((name, at) => all.indexOf(name) !== at)).toEqual([]);
  });

  it('is that of the registries', () => {
    expect(groups.get('text')).toEqual(SUPPORTED.text.filter((name) => !SUPPORTED.media.includes(name)));
    expect(groups.get('text and media')).toContain('Phi4MMForCausalLM');
    expect(groups.get('text and media')).toEqual(
      expect.arrayContaining(['Qwen2VLForConditionalGeneration', 'VoxtralForConditionalGeneration']),
    );
    expect(groups.get('embeddings')).toContain('BertModel');
    expect(groups.get('images')).toEqual(SUPPORTED.images);
    expect(groups.get('tensors')).toEqual(SUPPORTED.tensorTypes);
    expect(groups.get('tensors')).toEqual(expect.arrayContaining(['BF16', 'Q4_K']));
    expect(lines.join()).not.toMatch(/U4_|FLAT_/);
    expect(groups.get('of images')).toContain('F8_E5M2');
    expect(groups.get('quantized by')?.join()).toMatch(
      /FP8.*GPTQ.*AWQ.*compressed-tensors.*bitsandbytes.*MLX/,
    );
    expect(groups.get('quantized to')).toEqual(['int8', 'int4']);
  });
});

describe('the verdict of svc doctor', () => {
  it('is good with one GPU that works', () => {
    const broken = { adapter: gpu, probe: wrong };
    expect(verdict([broken, { adapter: gpu, probe: right }])).toEqual({ healthy: true, complaint: null });
  });
  it('asks for a driver where only software works', () => {
    const { healthy, complaint } = verdict([{ adapter: { ...gpu, software: true }, probe: right }]);
    expect(healthy).toBe(true);
    expect(complaint).toContain('software');
  });
  it.each([[[]], [[{ adapter: gpu, probe: wrong }]]])('is bad where nothing works', (examined) => {
    expect(verdict(examined).healthy).toBe(false);
  });
});

describe('the remedy of svc doctor', () => {
  const system: System = {
    platform: 'linux',
    distribution: ['debian'],
    musl: false,
    container: false,
    wsl: false,
    lockedDevice: null,
  };
  it.each<[Partial<System>, string]>([
    [{}, 'apt install mesa-vulkan-drivers'],
    [{ distribution: ['linuxmint', 'ubuntu', 'debian'] }, 'apt install'],
    [{ distribution: ['fedora'] }, 'dnf install'],
    [{ distribution: ['opensuse-tumbleweed', 'suse'] }, 'zypper install'],
    [{ distribution: ['arch'] }, 'pacman'],
    [{ distribution: ['gentoo'] }, 'libvulkan.so.1'],
    [{ musl: true, distribution: ['alpine'] }, 'glibc'],
    [{ container: true }, '--device /dev/dri'],
    [{ wsl: true }, 'WSL'],
    [{ lockedDevice: '/dev/dri/renderD128' }, 'usermod -aG render,video'],
    [{ platform: 'darwin' }, 'Metal'],
    [{ platform: 'win32' }, 'driver of your GPU'],
  ])('for %j names %s', (change, text) => {
    expect(remedies({ ...system, ...change }).join('\n')).toContain(text);
  });
  it('is for machines with a GPU alone where a software adapter works', () => {
    expect(remedies(system).join('\n')).toContain('AMD, Intel, or no GPU: ');
    const told = remedies(system, { hasSoftware: true }).join('\n');
    expect(told).toContain('AMD or Intel: sudo apt install');
    expect(told).not.toContain('no GPU');
  });
  it('mentions containers only inside one', () => {
    expect(remedies(system).join('\n')).not.toContain('container');
  });
});
