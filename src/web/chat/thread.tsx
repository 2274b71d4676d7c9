// The branch of a conversation that is shown, message by message; replies of one group stand side by side.

import { useLayoutEffect, useRef } from 'preact/hooks';
import { columnsAt, type Conversation, pathTo } from './conversation.ts';
import { ReplyMessage, type Shown, UserMessage } from './message-view.tsx';
import { changes } from './state.ts';
import { show } from './talk.ts';

/** Pixels from the end within which the view follows a growing reply. */
const NEAR_END = 40;

export function Thread({ conversation }: { conversation: Conversation }) {
  const scroller = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const change = changes.value;
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element && follows.current) element.scrollTop = element.scrollHeight;
  }, [change]);
  useLayoutEffect(() => {
    follows.current = true;
  }, [conversation.id]);
  return (
    <div
      class="thread"
      ref={scroller}
      tabIndex={0}
      role="region"
      aria-label="Messages"
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        follows.current = scrollHeight - scrollTop - clientHeight < NEAR_END;
      }}
    >
      {pathTo(conversation, conversation.leaf).map((message) => (
        <Row
          key={message.group ?? message.id}
          conversation={conversation}
          message={message}
          change={change}
        />
      ))}
    </div>
  );
}

function Row({ conversation, message, change }: Shown) {
  if (message.role === 'user')
    return <UserMessage conversation={conversation} message={message} change={change} />;
  const columns = columnsAt(conversation, message);
  if (columns.length === 1)
    return <ReplyMessage conversation={conversation} message={message} change={change} />;
  return (
    <div class="columns" role="group" aria-label="Replies side by side">
      {columns.map((one) => (
        <div key={one.id} class="column" data-chosen={one.id === message.id}>
          <ReplyMessage conversation={conversation} message={one} change={change} />
          <button
            type="button"
            aria-pressed={one.id === message.id}
            aria-label={`Go on from here: ${one.model}`}
            onClick={() => show(conversation, one)}
          >
            Go on from here
          </button>
        </div>
      ))}
    </div>
  );
}
