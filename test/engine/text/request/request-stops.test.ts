// Stop expressions of a request: which are compiled in another thread, and their total size limit.

import { describe, expect, it, vi } from 'vitest';
import { stopsOf } from '../../../../src/engine/text/request/prepare-reply.ts';
import { stopTables } from '../../../../src/grammar/stops/stop-table.ts';
import type { TextRequest } from '../../../../src/engine/text/calls/text-model.ts';

const asking = (stopRegex: string[]): TextRequest => ({ prompt: { text: 'a' }, stopRegex });

describe('stop expressions', () => {
  it.each([
    ['of many places', ['x{3990}']],
    ['that name properties of Unicode', ['\\p{Lu}{2}']],
    ['that are long', [`[${'abcdefgh'.repeat(40)}]b`]],
    ['that are small, but not all together', Array(16).fill('[ab]{99}c') as string[]],
  ])('%s are compiled in another thread', async (_, patterns) => {
    const away = vi.fn(async (asked: readonly string[]) => stopTables(asked));
    const stops = await stopsOf({ ...asking(patterns), stop: ['end'] }, away);
    expect(away.mock.calls.map(([asked]) => asked)).toEqual([patterns]);
    expect(stops.map((stop) => stop.begin().stop)).toEqual(['end', ...patterns]);
    expect(await stopsOf(asking(patterns), null)).toHaveLength(patterns.length);
  });

  it('that are small wait for no thread', async () => {
    const away = vi.fn(() => Promise.reject(new Error('asked')));
    expect(await stopsOf(asking(['\\n\\d+\\.', '[.!?]\\s*$', '</?[a-z]+>']), away)).toHaveLength(3);
    await expect(stopsOf(asking(['(']), away)).rejects.toMatchObject({ param: 'stopRegex.0' });
    await expect(stopsOf(asking(['a', 'a*']), away)).rejects.toMatchObject({ param: 'stopRegex.1' });
  });

  it('share the places there may be, and the characters', async () => {
    await expect(stopsOf(asking(['a{3000}', 'b{3000}']), null)).rejects.toMatchObject({
      code: 'bad_request',
      param: 'stopRegex.1',
      message: expect.stringContaining('has more than 4000 places, with those before it') as string,
    });
    const away = vi.fn(() => Promise.reject(new Error('asked')));
    await expect(stopsOf(asking(Array(3).fill(`[${'ab'.repeat(15_000)}]`)), away)).rejects.toMatchObject({
      code: 'bad_request',
      param: 'stopRegex',
      message: expect.stringContaining('65536 is the most') as string,
    });
    expect(away).not.toHaveBeenCalled();
  });

  it('that repeat nothing take no time', () => {
    const { user } = process.cpuUsage();
    expect(() => stopTables(['((()|()){100000}){100000}a'])).toThrow('places');
    expect(() => stopTables(['((){100000}){100000}a'])).toThrow('places');
    expect(process.cpuUsage().user - user).toBeLessThan(1_000_000);
  });
});
