// The licences of the packages that are in the bundle for pages. In Node npm installs them apart, each with its own.

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './packages.mjs';

/** What packages are compiled from, where their own licence does not say it. */
const WITHIN = {
  'h264-mp4-encoder':
    'Its WebAssembly is compiled from minih264 (in the public domain by CC0, https://github.com/lieff/minih264) and libmp4v2 (Mozilla Public License 1.1,\n' +
    'https://www.mozilla.org/MPL/1.1/), whose changed sources are at https://github.com/TrevorSundberg/h264-mp4-encoder. The license notice\n' +
    'of libmp4v2: the contents of these files are subject to the Mozilla Public License Version 1.1; they may not be used except in\n' +
    'compliance with it. Software under the License is distributed on an "AS IS" basis, WITHOUT WARRANTY OF ANY KIND, either express or\n' +
    'implied. The Original Code is MPEG4IP; its Initial Developer is Cisco Systems Inc.',
};

const PACKAGE = /^.*node_modules\/((?:@[^/]+\/)?[^/]+)\//;

/**
 * @param {readonly string[]} inputs paths of the files in the bundle
 * @returns {string} the notices of the packages among them
 */
export function noticesOf(inputs) {
  const names = [...new Set(inputs.flatMap((path) => PACKAGE.exec(path)?.[1] ?? []))].toSorted();
  const head = 'The files of this folder contain these packages, under the licences below.';
  return `${[head, ...names.map(noticeOf)].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

function noticeOf(name) {
  const folder = join(root, 'node_modules', name);
  if (!existsSync(folder))
    throw new Error(`The licence of ${name} is looked for in node_modules/${name}, which is missing.`);
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
  if (files.length === 0) throw new Error(`The package ${name} (${license}) has no file with its licence.`);
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return [`${name} ${version} (${license})`, ...(WITHIN[name] ? [WITHIN[name]] : []), ...texts].join('\n\n');
}
