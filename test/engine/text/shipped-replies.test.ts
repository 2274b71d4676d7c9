// The shipped model answers with the recorded tokens; pages of Chromium are held to the same ones (test/browser/shipped.test.ts).

import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { TEXT } from '../../../src/host/kinds/text.ts';
import { openInline } from '../../../src/host/open.ts';
import { REPLIES, REPLY_TOKENS } from '../../shipped.ts';
import { collect } from '../fixture.ts';

it('svc-chat-mini answers with the recorded tokens', { timeout: 120_000 }, async () => {
  const path = fileURLToPath(new URL('../../../models/svc-chat-mini', import.meta.url));
  await using model = await openInline(TEXT, nodePlatform, { model: path, memoryBudget: 2 ** 29 });
  for (const { question, ids } of REPLIES) {
    const messages = [{ role: 'user' as const, content: question }];
    const reply = await collect(
      model.generate({ prompt: { messages }, temperature: 0, maxTokens: REPLY_TOKENS }),
    );
    expect(reply.ids, question).toEqual([ids]);
  }
});
