// Files that are none: gone, empty, links that lead nowhere, pipes, devices, folders.

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const isWindows = process.platform === 'win32';
const isRoot = process.getuid?.() === 0;

/** Things that take a file's place; each gets the file's path once the file is gone. */
const KINDS = {
  gone: () => {},
  empty: (path) => writeFileSync(path, ''),
  'a folder': (path) => mkdirSync(path),
  'sparse and of 1 TB': (path) => {
    writeFileSync(path, '');
    truncateSync(path, 1e12);
  },
  ...(!isWindows && {
    'a pipe nobody writes to': (path) => spawnSync('mkfifo', [path]),
    'a link to itself': (path) => symlinkSync(basename(path), path),
    'a link to nothing': (path) => symlinkSync('../blobs/0000', path),
    'a link to its folder': (path) => symlinkSync('.', path),
    '/dev/zero': (path) => symlinkSync('/dev/zero', path),
    '/dev/random': (path) => symlinkSync('/dev/random', path),
    '/dev/null': (path) => symlinkSync('/dev/null', path),
    '/proc/self/environ': (path) => symlinkSync('/proc/self/environ', path),
  }),
  ...(!isWindows &&
    !isRoot && {
      'not readable': (path) => {
        writeFileSync(path, '{}');
        chmodSync(path, 0o000);
      },
    }),
};

export function replaceFile({ folder, files, random }) {
  const file = random.pick(files);
  const kind = random.pick(Object.keys(KINDS));
  rmSync(join(folder, file));
  KINDS[kind](join(folder, file));
  return { file, isRemoved: kind === 'gone' || kind === 'a folder', what: `${file} is ${kind}` };
}

/** Files that stand beside the sound ones and must not be opened, or make no difference. */
export function addFile({ folder, random }) {
  const file = random.pick([
    'model.safetensors.index.json',
    'adapter_config.json',
    'quantize_config.json',
    'hf_quant_config.json',
    'chat_template.jinja',
    'chat_template.json',
    'generation_config.json',
    'special_tokens_map.json',
    'added_tokens.json',
    'preprocessor_config.json',
    'modules.json',
    'model_index.json',
    'svc.json',
  ]);
  const kind = random.pick(
    Object.keys(KINDS).filter((name) => name !== 'gone' && name !== 'sparse and of 1 TB'),
  );
  rmSync(join(folder, file), { force: true });
  KINDS[kind](join(folder, file));
  return { file, isRemoved: kind === 'a folder', what: `${file} is there and is ${kind}` };
}
