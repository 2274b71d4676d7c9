// The report of gpu-check in its small form: the stages that need no model, and what becomes of a stage that hangs or fails.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reportName, withoutPaths } from '../../scripts/gpu-check/report.mjs';
import { runStage } from '../../scripts/gpu-check/stage-process.mjs';
import { root } from '../../scripts/setup/packages.mjs';

const PATIENCE = 120_000;
const folder = mkdtempSync(join(tmpdir(), 'svc-gpu-check-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

function run(out, ...args) {
  const command = [join(root, 'scripts/gpu-check.mjs'), '--small', '--out', out, ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, {
    encoding: 'utf8',
    timeout: PATIENCE,
  });
  return { status, stdout, stderr };
}

const read = (file) => JSON.parse(readFileSync(file, 'utf8'));

describe('a small run of gpu-check', () => {
  const file = join(folder, 'small.json');
  let outcome;
  let stages;
  beforeAll(() => {
    writeFileSync(file, JSON.stringify({ small: true, stages: { models: { status: 'done', rows: [] } } }));
    outcome = run(file, '--only', 'adapter,ceilings,kernels');
    ({ stages } = read(file));
  }, PATIENCE);

  it('ends well, with all parts of each stage and their times', () => {
    expect(outcome).toMatchObject({ status: 0, stderr: '' });
    expect(Object.keys(stages)).toEqual(['models', 'adapter', 'ceilings', 'kernels']);
    for (const name of ['adapter', 'ceilings', 'kernels']) {
      const { status, made, parts } = stages[name];
      expect(status).toBe('done');
      expect(Date.parse(made)).toBeGreaterThan(0);
      for (const part of Object.values(parts)) {
        expect(part.status).toBe('done');
        expect(part.seconds).toBeGreaterThan(0);
      }
    }
    expect(stages.models).toEqual({ status: 'done', rows: [] });
  });

  it('tells the adapter, its features and what its numbers and timestamps are worth', () => {
    const { summary, features, limits, engine, probes, subgroupMatrixConfigs } = stages.adapter;
    expect(summary.description.length + summary.device.length).toBeGreaterThan(0);
    expect(features).toContain('core-features-and-limits');
    expect(limits.maxStorageBufferBindingSize).toBeGreaterThan(0);
    expect(engine.profile).toMatch(/cpu|integrated|discrete/);
    expect(subgroupMatrixConfigs).toBeInstanceOf(Array);
    expect(probes.map(({ name }) => name)).toEqual([
      'f16 subnormals through unpack2x16float',
      'f16 subnormals in f16 arithmetic',
      'f32 subnormals',
      'subgroup sizes seen',
      'timestamps',
    ]);
    expect(probes.filter(({ error }) => error !== undefined)).toEqual([]);
    const [unpacked, , , subgroups] = probes;
    expect(unpacked.value).not.toContain('wrong');
    for (const { sizes } of subgroups.sizes ?? [])
      for (const size of sizes) {
        expect(size).toBeGreaterThanOrEqual(summary.subgroupMinSize);
        expect(size).toBeLessThanOrEqual(summary.subgroupMaxSize);
      }
  });

  it('has a rate for each ceiling', () => {
    const { rates, best, latencies } = stages.ceilings;
    expect(rates.filter(({ error }) => error !== undefined)).toEqual([]);
    expect(rates.length).toBe(Object.keys(best).length);
    for (const rate of Object.values(best)) expect(rate).toBeGreaterThan(0);
    expect(Object.keys(best)).toEqual(
      expect.arrayContaining(['readGbytes', 'packedReadGbytes', 'f32Tflops', 'dot4Tops']),
    );
    expect(latencies.length).toBe(6);
    for (const { us } of latencies) expect(us).toBeGreaterThan(0);
  });

  it('times each kind of kernel beside the ceilings', () => {
    const { rows } = stages.kernels;
    const { readGbytes, packedReadGbytes } = stages.ceilings.best;
    expect(rows.filter(({ error }) => error !== undefined)).toEqual([]);
    const kernels = new Set(rows.flatMap((row) => row.kernels));
    for (const name of ['attention', 'attend', 'rmsnorm', 'rope-kv', 'sample', 'matmul'])
      expect([...kernels].some((kernel) => kernel.startsWith(name))).toBe(true);
    expect(new Set(rows.map(({ format }) => format))).toContain('int4');
    for (const { ms, bytes, gbytes, ofRead, operations, ofFma } of rows) {
      expect(ms).toBeGreaterThan(0);
      expect(gbytes).toBeCloseTo(bytes / ms / 1e6, 9);
      expect(ofRead).toBeCloseTo(gbytes / Math.max(readGbytes, packedReadGbytes), 9);
      if (operations > 0) expect(ofFma).toBeGreaterThan(0);
    }
  });

  it('names no path of the machine', () => {
    const text = readFileSync(file, 'utf8');
    for (const path of [root, homedir(), tmpdir()].filter((path) => path.length > 1))
      expect(text).not.toContain(path);
  });
});

describe('a stage of gpu-check', () => {
  const rows = [];
  const sink = { put: () => {}, row: (list, row) => rows.push(row) };
  const here = join(root, 'scripts/gpu-check');

  /** Runs the text of a module as a stage. */
  function stage(name, text, milliseconds = PATIENCE) {
    writeFileSync(join(folder, `${name}.mjs`), text);
    const path = relative(here, join(folder, name));
    return runStage({ stage: path, milliseconds, scratch: folder, earlier: {} }, sink);
  }

  it('that hangs is ended at its deadline', { timeout: PATIENCE }, async () => {
    const outcome = await stage('hang', 'export async function measure() { for (;;); }', 1000);
    expect(outcome).toMatchObject({ status: 'timed out', error: 'it was ended at its deadline' });
  });

  it('that fails leaves its rows, and its error without paths', { timeout: PATIENCE }, async () => {
    const text = `export async function measure({ sink }) {
      sink.row('rows', { name: 'first' });
      throw new Error('no file ${join(root, 'scripts/x.mjs')}');
    }`;
    expect(await stage('fail', text)).toMatchObject({ status: 'failed', error: 'no file ./scripts/x.mjs' });
    expect(rows).toEqual([{ name: 'first' }]);
  });

  it.skipIf(process.platform === 'win32')(
    'whose process crashes says how',
    { timeout: PATIENCE },
    async () => {
      const outcome = await stage(
        'crash',
        "export const measure = () => process.kill(process.pid, 'SIGKILL');",
      );
      expect(outcome).toMatchObject({ status: 'failed', error: 'its process ended with SIGKILL' });
    },
  );
});

it('gpu-check refuses a stage that it does not have', () => {
  const { status, stderr } = run(join(folder, 'none.json'), '--only', 'kernel');
  expect(status).toBe(2);
  expect(stderr).toContain(
    '--only kernel is no stage: choose among adapter, ceilings, tests, kernels, models, images',
  );
});

it('withoutPaths() takes paths out of errors and keeps their file names', () => {
  const text = `at file://${join(root, 'scripts/a.mjs')}:3, in ${join(tmpdir(), 'x/y.json')} and /usr/lib/gpu/libz.so, 3/4 of n/m`;
  expect(withoutPaths(text)).toBe('at ./scripts/a.mjs:3, in <tmp>/x/y.json and …/libz.so, 3/4 of n/m');
});

it('names of reports contain the adapter', () => {
  expect(reportName({ device: 'NVIDIA H100 80GB HBM3', description: 'x' })).toBe('nvidia-h100-80gb-hbm3');
  expect(reportName(undefined)).toBe('unknown-adapter');
});
