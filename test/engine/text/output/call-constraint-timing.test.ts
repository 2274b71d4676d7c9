// Constrained calls on a fake device: a hash of the tokens decides where they begin and end, and whatever delays the loop, the
// tokens are those of the request alone.

import { expect, it } from 'vitest';
import { createCallConstraint } from '../../../../src/engine/text/output/call-constraint.ts';
import { plainOutput, type OutputParser } from '../../../../src/engine/text/output/output-parser.ts';
import { randomInteger } from '../../random.ts';
import { paperConstraint } from '../paper-constraint.ts';
import { allFinished, createPaperEngine } from '../paper-engine.ts';
import { generated, paperSequence, type PaperSequence } from '../paper-sequence.ts';

/** A call begins with every third token and ends with every fifth. `early`: its arguments begin with the token after its first. */
function paperCalls(early: boolean): OutputParser {
  let calls = 0;
  let said: string | null = null;
  const push: OutputParser['push'] = ({ id, text }) => {
    if (said === null && id! % 3 === 0) {
      calls++;
      said = early ? '' : text;
    } else if (said !== null) said = id! % 5 === 0 ? null : said + text;
    return [];
  };
  return {
    ...plainOutput(),
    push,
    get toolCalls() {
      return calls;
    },
    get openArguments() {
      return said;
    },
    get awaitsArguments() {
      return said === '';
    },
  };
}

interface Asked {
  prompt: number[];
  length: number;
  seed: number;
  early: boolean;
}

function ask({ prompt, length, seed, early }: Asked): PaperSequence {
  const sequence = paperSequence(prompt, length, { seed });
  const { pieces } = sequence.output;
  const start = () => paperConstraint({ seed, forcedIn: 1000 });
  sequence.constraint = createCallConstraint({
    grammar: { start },
    read: () => ({ output: paperCalls(early), pieces }),
  });
  return sequence;
}

it.each([1, 2, 3])('tokens are those of the request alone: seed %d', async (seed) => {
  const random = randomInteger(seed);
  const engine = createPaperEngine({ pages: 14, slots: 1, rows: 32 }, random);
  const { scheduler, start } = engine;
  for (let round = 0; round < 6; round++) {
    const one: Asked = {
      prompt: [random(250), random(250)],
      length: 60,
      seed: random(1000),
      early: round % 2 === 1,
    };
    const alone = start(ask(one));
    await allFinished([alone]);
    const pressed = start(ask(one));
    while (!pressed.finished) {
      const urgent = start(paperSequence([random(250)], 1, { priority: 10 }));
      for (let turn = random(20); turn > 0; turn--) await new Promise((resolve) => setImmediate(resolve));
      await allFinished([urgent]);
    }
    expect(generated(pressed)).toEqual(generated(alone));
  }
  expect(scheduler.retractions).toBeGreaterThan(20);
});
