// naga, the shader compiler of Firefox and wgpu: cargo's package naga-cli. It is only used where it is installed, because compiling it
// takes minutes.

import { spawnSync } from 'node:child_process';

/** @returns {{ path: string, version: string } | { reason: string }} the program that SVC_NAGA names, else that of PATH */
export function findNaga() {
  const named = process.env.SVC_NAGA;
  const path = named || 'naga';
  const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 30_000 });
  const version = /\d+\.\d+\.\d+/.exec(stdout ?? '')?.[0];
  if (version !== undefined) return { path, version };
  return {
    reason: named
      ? `SVC_NAGA names ${named}, which tells no version`
      : 'no naga is in PATH, and SVC_NAGA names none',
  };
}
