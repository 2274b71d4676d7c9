// svc doctor: lists the GPU adapters with their features, checks that they compute correctly, and says what is missing.

import { bytesText } from '../../files/bytes-text.ts';
import { arch, release } from 'node:os';
import type { AdapterSummary, KernelCheck, ProbeResult, Supported } from '../../index.ts';
import { createCommand } from '../options/command.ts';
import { asksForTuning, TUNE_OPTIONS, tuneModel } from './doctor-tune.ts';
import { EXIT } from '../process/exit.ts';
import { packageVersion } from '../process/package.ts';
import { remedies, thisSystem } from './remedy.ts';
import { createLog, writeLine } from '../process/terminal.ts';

interface Examined {
  adapter: AdapterSummary;
  probe: ProbeResult;
  /** Left out: they were not checked. */
  kernels?: KernelCheck[];
}

export const doctor = createCommand({
  name: 'doctor',
  summary:
    'Show the GPU adapters, check that they compute, say what is missing, and list the models that open.',
  options: {
    kernels: {
      kind: 'boolean',
      group: 'Checks',
      help: 'Check every family of kernels against its plain form, in some seconds for each adapter.',
    },
    ...TUNE_OPTIONS,
    json: { kind: 'boolean', group: 'Output', help: 'As JSON, with all features and limits.' },
  },
  async run({ options }) {
    if (asksForTuning(options)) {
      await tuneModel(options, options.json === true);
      return EXIT.ok;
    }
    const { SUPPORTED } = await import('../../index.ts');
    const log = createLog();
    const { examined, problem } = await examine(options.kernels === true);
    if (options.json) {
      const build = { version: packageVersion(), node: process.version };
      writeLine(JSON.stringify({ ...build, adapters: examined, supported: SUPPORTED }, null, 2));
    } else {
      writeLine(
        `svc-engine ${packageVersion()}, Node ${process.version}, ${process.platform} ${release()} ${arch()}`,
      );
      for (const one of examined) writeLine(`\n${describeAdapter(one)}`);
      writeLine(`\n${describeSupported(SUPPORTED)}`);
    }
    const { healthy, complaint } =
      problem === null ? verdict(examined) : { healthy: false, complaint: problem };
    if (complaint !== null) {
      // A complaint about what is healthy is that only software is.
      const found = remedies(thisSystem(), { hasSoftware: healthy });
      log.warn([complaint, ...found.map((sentence) => `- ${sentence}`)].join('\n'));
    }
    return healthy ? EXIT.ok : EXIT.failed;
  },
});

/** Probes every adapter. `problem`: why none could be listed; null: they were. */
async function examine(checks: boolean): Promise<{ examined: Examined[]; problem: string | null }> {
  const { adapters, checkKernels, EngineError, probeAdapter } = await import('../../index.ts');
  const examined: Examined[] = [];
  try {
    for (const adapter of await adapters()) {
      const probe = await probeAdapter(String(adapter.index));
      const kernels = checks && probe.ok ? await checkKernels(String(adapter.index)) : undefined;
      examined.push({ adapter, probe, ...(kernels && { kernels }) });
    }
    return { examined, problem: null };
  } catch (error) {
    if (!(error instanceof EngineError && error.code === 'no_adapter')) throw error;
    return { examined, problem: error.message };
  }
}

/** Columns of the lists of names. */
const LABEL = 15;
const WIDTH = 100;

/** Lists what the build opens, in groups of lines: a class that several groups would list stands in one of them. */
export function describeSupported(supported: Supported): string {
  const texts = supported.text.filter((name) => !supported.media.includes(name));
  const embedders = supported.embeddings.filter((name) => !supported.text.includes(name));
  const rows: [string, readonly string[]][] = [
    ['text', texts],
    ['text and media', supported.media],
    ['embeddings', [...embedders, 'and the classes of text']],
    ['transcription', supported.transcription],
    ['images', supported.images],
    ['tensors', supported.tensorTypes],
    ['of images', [...supported.imageTensorTypes, 'and the types of tensors']],
    ['quantized by', supported.quantizedBy],
    ['quantized to', supported.quantizations],
  ];
  return [
    'Classes of models, as config.json and model_index.json name them, and formats',
    ...rows.flatMap(([kind, names]) => groupLines(kind, names)),
  ].join('\n');
}

/** The names of a group, in lines of at most WIDTH columns beside its label. */
function groupLines(label: string, names: readonly string[]): string[] {
  const lines: string[] = [];
  names.forEach((name, at) => {
    const text = at < names.length - 1 ? `${name},` : name;
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + text.length > WIDTH - LABEL - 2) lines.push(text);
    else lines[lines.length - 1] = `${last} ${text}`;
  });
  return lines.map((line, at) => `  ${(at === 0 ? label : '').padEnd(LABEL)}${line}`);
}

export function verdict(examined: Examined[]): { healthy: boolean; complaint: string | null } {
  if (examined.length === 0) return { healthy: false, complaint: 'No GPU adapter answers.' };
  const working = examined.filter(({ probe, kernels = [] }) => probe.ok && kernels.every(({ ok }) => ok));
  if (working.length === 0)
    return {
      healthy: false,
      complaint:
        'Adapters answer, but none computes what it should. With --backend generic, `svc generate` uses the plain kernels.',
    };
  const software = working.every(({ adapter }) => adapter.software);
  return {
    healthy: true,
    complaint: software
      ? 'Only software adapters work: models run on the CPU. Where this machine has a GPU:'
      : null,
  };
}

/** Optional features that select kernels, each with its use. */
const FEATURES: Record<string, string> = {
  'shader-f16': 'half precision inside kernels',
  subgroups: 'kernels without barriers',
  'timestamp-query': 'times per kernel',
};

export function describeAdapter({ adapter, probe, kernels }: Examined): string {
  const { index, description, device, vendor, architecture, software, features, limits } = adapter;
  const subgroups =
    adapter.subgroupMaxSize === 0 ? 'unknown' : `${adapter.subgroupMinSize} to ${adapter.subgroupMaxSize}`;
  const has = Object.keys(FEATURES).filter((feature) => features.includes(feature));
  const lacks = Object.entries(FEATURES).filter(([feature]) => !features.includes(feature));
  const rows: [string, string][] = [
    ['vendor', [...new Set([vendor, architecture, software ? 'software' : ''])].filter(Boolean).join(', ')],
    ['driver', description || 'not named'],
    ['features', has.join(', ') || 'none of those that kernels use'],
    ...lacks.map(([feature, use]): [string, string] => ['missing', `${feature}: ${use}`]),
    ['subgroups', subgroups],
    ['matrices', matricesText(adapter.matrixUnit)],
    [
      'limits',
      `${size(limits['maxStorageBufferBindingSize'])} a binding, ${size(limits['maxBufferSize'])} a buffer, ` +
        `${size(limits['maxComputeWorkgroupStorageSize'])} shared, ${limits['maxComputeInvocationsPerWorkgroup']} invocations`,
    ],
    ['probe', probe.ok ? `right, in ${probe.milliseconds.toFixed(0)} ms` : `FAILED: ${probe.problem}`],
    ...probe.remarks.map((remark): [string, string] => ['note', remark]),
    ...(kernels ? kernelRows(kernels) : []),
  ];
  const title = `Adapter ${index}: ${device || description || vendor}`;
  return [title, ...rows.map(([name, text]) => `  ${name.padEnd(10)} ${text}`)].join('\n');
}

/** The matrix unit that products and attention of many rows use. */
function matricesText(unit: AdapterSummary['matrixUnit']): string {
  if (typeof unit === 'string') return `none: ${unit}`;
  const { rows, columns, depth, subgroup } = unit;
  return `${rows} × ${columns} × ${depth}, f16 summed in f32, in subgroups of ${subgroup}`;
}

/** How many families are right, and each that is not with its shaders. */
function kernelRows(kernels: readonly KernelCheck[]): [string, string][] {
  const wrong = kernels.filter(({ ok }) => !ok);
  const seconds = kernels.reduce((sum, { milliseconds }) => sum + milliseconds, 0) / 1000;
  return [
    [
      'kernels',
      `${kernels.length - wrong.length} of ${kernels.length} checks right, in ${seconds.toFixed(1)} s`,
    ],
    ...wrong.map(({ name, kernels: shaders, problem }): [string, string] => [
      'WRONG',
      `${name} (${shaders.join(', ') || 'not compiled'}): ${problem}`,
    ]),
  ];
}

function size(bytes: number | undefined): string {
  return bytes === undefined ? '?' : bytesText(bytes);
}
