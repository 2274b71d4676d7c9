// The commands of svc and what each says of its options, in this process; test/cli/svc.test.ts starts processes.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { type Ended, runHere } from './command-line.ts';

const home = mkdtempSync(join(tmpdir(), 'svc-commands-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const here = (args: string[]): Promise<Ended> =>
  runHere(COMMANDS, args, { HF_HOME: home, HF_HUB_OFFLINE: '1' });

describe('svc', () => {
  it('lists its commands', async () => {
    const { code, out } = await here(['--help']);
    expect(code).toBe(0);
    for (const name of ['serve', 'chat', 'generate', 'pull', 'list', 'rm', 'doctor', 'version'])
      expect(out).toContain(`\n  ${name} `);
  });

  it('groups a command’s options and shows their defaults', async () => {
    const { code, out } = await here(['serve', '--port', 'x', '--help']);
    expect(code).toBe(0);
    expect(out).toMatch(/\nServer\n(.*\n)+.*--port <n> .*\[30000\]\n/);
    expect(out).toMatch(/--max-running-requests <n> .*\[16\]/);
  });

  it.each([
    [['serve', '--prot', '1'], 2, /did you mean --port\?[^]*See `npx svc-engine serve --help`/],
    [['show'], 2, /there is no command "show"; did you mean plan\?[^]*See `npx svc-engine --help`/],
    [['serve', '--lora-dir', 'none'], 2, '--lora-dir none is not a folder that is there'],
    [['rm', 'svc-chat-mini'], 3, "'svc-chat-mini' ships with the package"],
    [['pull', 'org/none'], 3, 'org/none'],
  ])('%j ends with %d', async (args, expected, message) => {
    const { code, out, err } = await here(args);
    expect({ code, out }).toEqual({ code: expected, out: '' });
    expect(err).toMatch(message);
  });

  it('lists only the shipped models where the cache is empty', async () => {
    const { code, out } = await here(['list', '--json']);
    expect(code).toBe(0);
    const models = JSON.parse(out) as { id: string; shipped: boolean; bytes: number }[];
    expect(models[0]).toMatchObject({ id: 'svc-chat-mini', shipped: true, complete: true });
    expect(models[0]?.bytes).toBeGreaterThan(1e6);
    expect(models.every(({ shipped }) => shipped)).toBe(true);
  });
});
