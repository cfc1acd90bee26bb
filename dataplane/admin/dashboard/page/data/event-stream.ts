/** One server-sent event (HTML, section 9.2). */
export type ServerEvent = { readonly event: string; readonly data: string };

/** Splits a stream of server-sent events; an EventSource can't send a token. Only the form that the Admin API sends is understood. */
export class EventParser {
  private rest = '';

  /** @returns the events that are complete. */
  push(text: string): ServerEvent[] {
    const blocks = (this.rest + text).split('\n\n');
    this.rest = blocks.pop() ?? '';
    return blocks.flatMap((block) => {
      const fields = block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trimStart()]);
      const data = fields.filter(([name]) => name === 'data').map(([, value]) => value);
      return data.length === 0 ? [] : [{ event: fields.findLast(([name]) => name === 'event')?.[1] ?? 'message', data: data.join('\n') }];
    });
  }
}
