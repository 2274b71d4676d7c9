// The check of shaders by naga, with stand-ins for the program: a shell script that refuses, accepts, or is not there.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { root } from '../../scripts/setup/packages.mjs';

let folder;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-check-naga-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the check on gated-delta-lanes.wgsl (five variants, all with subgroups) by a program that does `lines` with its input $1. */
function check(name, lines) {
  const path = join(folder, name);
  const script = ['#!/bin/sh', '[ "$1" = --version ] && echo 30.0.1 && exit', ...lines, ''];
  if (lines.length > 0) writeFileSync(path, script.join('\n'), { mode: 0o755 });
  const args = [join(root, 'scripts/check-naga.mjs'), 'gated-delta-lanes'];
  const env = { ...process.env, SVC_NAGA: path };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
  return { status, stdout: stdout.trim(), stderr: stderr.trim().split('\n') };
}

const onUnix = it.skipIf(process.platform === 'win32');

it('check-naga prints NOT RUN if there is no naga', () => {
  const { status, stdout } = check('absent', []);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^naga: NOT RUN \(SVC_NAGA names .*absent/);
});

onUnix('counts what passes, in all three languages', () => {
  const { status, stdout } = check('content', ['[ "$#" = 1 ] && exit', '[ "$#" = 4 ]']);
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'naga 30.0.1: 5 modules, 0 refused' });
});

onUnix('takes away an extension that this naga does not know', () => {
  const { status, stdout } = check('older', ['! grep -q "^enable subgroups" "$1"']);
  const counts = 'naga 30.0.1: 5 modules, 0 refused, 5 checked without the line `enable subgroups`';
  expect({ status, stdout }).toEqual({ status: 0, stdout: counts });
});

onUnix('names the variant that is refused, and the reason', () => {
  const { status, stderr } = check('strict', [
    'grep -q "LANES = 4u" "$1" || exit 0',
    'echo "thread \'main\' panicked at block.rs:3847:56:" >&2',
    'echo "Expression [159] is not cached!" >&2',
    'exit 101',
  ]);
  expect(status).toBe(1);
  expect(stderr).toEqual([
    "gated-delta-lanes.wgsl {LANES: 4}: thread 'main' panicked at block.rs:3847:56: Expression [159] is not cached!",
  ]);
});
