// A message, with what can be done with it.

import { useEffect, useRef, useState } from 'preact/hooks';
import { textModels } from '../api/models.ts';
import { copyText } from '../parts/copy.ts';
import { AttachmentView } from './attachment-view.tsx';
import { CallView, mayBeAnswered } from './call-view.tsx';
import { branchesAt, type Conversation, type Message, type Usage } from './conversation.ts';
import { Markdown } from './markdown-view.tsx';
import { notes } from './reply.ts';
import { answer, edit, regenerate, show } from './talk.ts';

export interface Shown {
  conversation: Conversation;
  message: Message;
  /** Counts changes: a message that grows stays the same object. */
  change: number;
}

export function UserMessage({ conversation, message, change }: Shown) {
  const [isEdited, setEdited] = useState(false);
  const { text, attachments = [] } = message;
  return (
    <article class="message user" aria-label="Your message">
      <div class="bubble">
        {attachments.length > 0 && (
          <div class="attachments">
            {attachments.map((one, at) => (
              <AttachmentView key={at} attachment={one} />
            ))}
          </div>
        )}
        {isEdited ? (
          <EditForm
            text={text}
            onEnd={() => setEdited(false)}
            onSend={(changed) => void edit(conversation, message, changed)}
          />
        ) : (
          <p class="said">{text}</p>
        )}
      </div>
      <div class="actions">
        <Branches conversation={conversation} message={message} change={change} />
        <CopyButton text={text} label="Copy this message" />
        {!isEdited && (
          <button type="button" onClick={() => setEdited(true)}>
            Edit
          </button>
        )}
      </div>
    </article>
  );
}

function EditForm({ text, onEnd, onSend }: { text: string; onEnd(): void; onSend(text: string): void }) {
  const [changed, setChanged] = useState(text);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  return (
    <form
      class="edit"
      onSubmit={(event) => {
        event.preventDefault();
        onEnd();
        onSend(changed);
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        onEnd();
      }}
    >
      <textarea
        aria-label="Changed message"
        rows={Math.min(12, text.split('\n').length + 1)}
        value={changed}
        ref={area}
        onInput={({ currentTarget }) => setChanged(currentTarget.value)}
      />
      <div class="actions">
        <button type="submit" class="first">
          Send as a branch
        </button>
        <button type="button" onClick={onEnd}>
          Cancel
        </button>
      </div>
    </form>
  );
}

export function ReplyMessage({ conversation, message, change }: Shown) {
  const { text, model = '', reasoning, calls = [], error, stream, finish, usage } = message;
  const isRunning = stream !== undefined;
  const isThinking = isRunning && text === '' && calls.length === 0;
  return (
    <article class="message reply" aria-label={`Reply of ${model}`} aria-busy={isRunning}>
      <p class="muted by">{model}</p>
      {reasoning && (
        <details class="reasoning">
          <summary>{isThinking ? 'Thinking …' : 'Thoughts'}</summary>
          <Markdown text={reasoning} />
        </details>
      )}
      {text !== '' && <Markdown text={text} />}
      {isThinking && !reasoning && (
        <p class="muted">{notes.value.get(message.id) ?? 'Waiting for the reply'} …</p>
      )}
      {calls.map((call) => (
        <CallView key={call.id} message={message} call={call} change={change} />
      ))}
      {error && <p class="problem">{error.message}</p>}
      {finish === 'length' && (
        <p class="muted">
          The reply was cut at the limit of tokens; raise max_completion_tokens for a longer one.
        </p>
      )}
      {finish === 'stopped' && <p class="muted">Stopped.</p>}
      <ReplyActions conversation={conversation} message={message} change={change} />
      {usage && <p class="muted usage">{usageText(usage)}</p>}
    </article>
  );
}

function ReplyActions({ conversation, message, change }: Shown) {
  const { text, model = '', stream } = message;
  const others = textModels.value.filter(({ id }) => id !== model);
  return (
    <div class="actions">
      {message.group === undefined && (
        <Branches conversation={conversation} message={message} change={change} />
      )}
      {text !== '' && <CopyButton text={text} label="Copy this reply" />}
      {mayBeAnswered(conversation, message) && (
        <button type="button" onClick={() => void answer(conversation, message)}>
          Answer the calls
        </button>
      )}
      {stream === undefined && (
        <button type="button" onClick={() => void regenerate(conversation, message, model)}>
          Ask again
        </button>
      )}
      {stream === undefined && others.length > 0 && (
        <select
          aria-label="Ask another model"
          value=""
          onChange={({ currentTarget }) => {
            const { value } = currentTarget;
            currentTarget.value = '';
            void regenerate(conversation, message, value);
          }}
        >
          <option value="">Ask another model</option>
          {others.map(({ id }) => (
            <option key={id}>{id}</option>
          ))}
        </select>
      )}
    </div>
  );
}

/** Goes to the branches beside a message. */
function Branches({ conversation, message }: Shown) {
  const branches = branchesAt(conversation, message);
  if (branches.length < 2) return null;
  const at = branches.findIndex(({ id }) => id === message.id);
  const goTo = (index: number) => show(conversation, branches[index]!);
  return (
    <span class="branches" role="group" aria-label="Branches">
      <button type="button" aria-label="Previous branch" disabled={at === 0} onClick={() => goTo(at - 1)}>
        ‹
      </button>
      <span>{`${at + 1} of ${branches.length}`}</span>
      <button
        type="button"
        aria-label="Next branch"
        disabled={at === branches.length - 1}
        onClick={() => goTo(at + 1)}
      >
        ›
      </button>
    </span>
  );
}

function CopyButton({ text, label }: { text: string; label: string }) {
  return (
    <button
      type="button"
      aria-label={label}
      onClick={({ currentTarget }) => void copyText(text, currentTarget)}
    >
      Copy
    </button>
  );
}

function usageText({ prompt, completion, cached, rate }: Usage): string {
  const read = `${prompt} tokens read${cached ? ` (${cached} cached)` : ''}`;
  const speed = rate === undefined ? [] : [`${rate.toFixed(1)} tokens per second`];
  return [read, `${completion} written`, ...speed].join(' · ');
}
