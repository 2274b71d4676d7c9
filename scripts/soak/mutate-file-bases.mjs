// Bases that are files of image models: a process of its own makes them with the tests' tiny pipelines, and leaves the options that open each.

import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../setup/packages.mjs';

/** Writes the bases of these names, or all, below `home`, and returns them by name. */
export function fileBases(home, names) {
  const folder = join(home, 'bases');
  mkdirSync(folder);
  const args = ['--import', './test/built.mjs', 'test/engine/image/mutation-bases.ts', folder, ...names];
  const { status, stderr } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, TMPDIR: home },
  });
  if (status !== 0) throw new Error(stderr);
  const made = readdirSync(folder).filter((file) => file.endsWith('.json'));
  return Object.fromEntries(
    made.map((file) => {
      const name = file.slice(0, -'.json'.length);
      const job = JSON.parse(readFileSync(join(folder, file), 'utf8'));
      return [name, { kind: 'image', size: 32, from: join(folder, name), ...job }];
    }),
  );
}
