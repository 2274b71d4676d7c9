// The check of kernels by RADV's compiler: its rules, its page, and what it says where the driver cannot be had.

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { pageOf, sectionOf, versionIn } from '../../scripts/compiled/page.mjs';
import { problemsOf } from '../../scripts/compiled/rules.mjs';
import { root } from '../../scripts/setup/packages.mjs';

const FINE = {
  ...{ shader: 'gemm.wgsl', params: { W: 'int4', ROWS: 64, STORE: 'set' }, of: 'a product' },
  ...{ registers: 132, spilled: 0, spilledScalars: 0, scratch: 0, shared: 12288, occupancy: 8 },
  ...{ instructions: 900, latency: 30000 },
};

it('check-compiled finds no problem in a kernel that fits', () => {
  expect(problemsOf({ gpu: 'navi31', pipelines: [FINE] })).toEqual([]);
});

it('check-compiled names the kernel that spills, keeps sums in memory, or fills a SIMD too little', () => {
  const pipelines = [
    { ...FINE, spilled: 3, spilledScalars: 1 },
    { ...FINE, scratch: 2048 },
    { ...FINE, occupancy: 7 },
    { ...FINE, shader: 'rmsnorm.wgsl', occupancy: 15 },
  ];
  const problems = problemsOf({ gpu: 'navi31', pipelines });
  expect(problems).toHaveLength(4);
  expect(problems[0]).toMatch(/^gemm\.wgsl .*"W":"int4".* \(a product\) on navi31 spills 4 registers$/);
  expect(problems[1]).toMatch(/keeps 2048 bytes a group in memory$/);
  expect(problems[2]).toMatch(/: 7 groups fit a SIMD, fewer than 8$/);
  expect(problems[3]).toMatch(/^rmsnorm\.wgsl .*: 15 groups fit a SIMD, fewer than 16$/);
});

it('check-compiled writes a page that holds the section of each card and the version', () => {
  const decode = {
    ...FINE,
    shader: 'matvec.wgsl',
    params: { W: 'int4', ROWS: 1, STORE: 'set' },
    registers: 60,
  };
  const result = {
    gpu: 'navi31',
    card: 'a card',
    architecture: 'RDNA 3',
    driver: 'radv: Mesa 1',
    pipelines: [FINE, decode],
  };
  const page = pageOf([result]);
  expect(versionIn(page)).toBe('radv: Mesa 1');
  expect(page).toContain(sectionOf(result));
  expect(page).toMatch(/\| `gemm\.wgsl` \| 1 \| 132 \| 0 \| 0 \| 8 \| 12288 \|/);
  expect(page).toMatch(/\| int4 \| 60 \| 8 \| 900 \| 30000 \| 132 \| 8 \| 900 \| 30000 \|/);
});

it('check-compiled prints NOT RUN if the packages cannot be had', () => {
  const cache = mkdtempSync(join(tmpdir(), 'svc-check-compiled-'));
  const folder = join(cache, 'svc-engine/vulkan/radv');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'manifest.json'), '{"unavailable":"apt-get is not on this system."}');
  const { status, stdout } = spawnSync(process.execPath, [join(root, 'scripts/check-compiled.mjs')], {
    encoding: 'utf8',
    env: { ...process.env, XDG_CACHE_HOME: cache },
  });
  rmSync(cache, { recursive: true });
  expect({ status, stdout: stdout.trim() }).toEqual({
    status: 0,
    stdout: 'kernels compiled by RADV: NOT RUN (apt-get is not on this system.)',
  });
});
