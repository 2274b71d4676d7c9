// What users of an old Node are told, by the command and by the library.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { nodeProblem } from '../../src/options/node-version.ts';
import { nodeArgs } from '../started.ts';

const SENTENCE =
  'svc-engine needs Node 20.19 or later, and this is Node 18.20.8: install a newer one from https://nodejs.org';

describe('the required version of Node', () => {
  it.each(['18.20.8', '20.18.3', '20.0.0', '16.1.0'])('is more than %s', (node) => {
    expect(nodeProblem({ node })).toContain(`this is Node ${node}:`);
  });

  it.each(['20.19.0', '20.20.1', '21.0.0', '22.4.0', '24.1.0', '100.0.0'])('is at most %s', (node) => {
    expect(nodeProblem({ node })).toBeNull();
  });

  it('is asked of no other runtime', () => {
    expect(nodeProblem({})).toBeNull();
  });

  it('is that of package.json', () => {
    const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      engines: { node: string };
    };
    const [, oldest] = /^>=(\d+\.\d+)$/.exec(engines.node)!;
    expect(nodeProblem({ node: '0.1.0' })).toContain(`needs Node ${oldest} or later`);
    expect(nodeProblem({ node: `${oldest}.0` })).toBeNull();
  });
});

/** Runs a module in a process that takes itself for an old Node. */
function runIn(node: string, module: string, ...args: string[]) {
  const fake = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${node}' } })`;
  const preload = ['--import', `data:text/javascript,${encodeURIComponent(fake)}`];
  const path = new URL(module, import.meta.url);
  return spawnSync(process.execPath, [...preload, ...nodeArgs(path), ...args], { encoding: 'utf8' });
}

it('an old Node ends the command with one sentence', () => {
  const { status, stderr, stdout } = runIn('18.20.8', '../../src/cli/main.ts', 'generate', '--help');
  expect([status, stdout, stderr]).toEqual([1, '', `[error] ${SENTENCE}\n`]);
});

it('an old Node fails the import of the library by the same sentence', () => {
  const { status, stderr } = runIn('18.20.8', '../../src/index.ts');
  expect(status).toBe(1);
  expect(stderr).toContain(`EngineError: ${SENTENCE}`);
});
