import type { BodySink, BodyStage } from '../../exchange/filter.ts';
import { Insertion, type Page } from './insertion.ts';
import { changedFields } from './page-head.ts';

/** A page that is not compressed, changed as it passes through. */
export class PageStage implements BodyStage {
  private readonly next: BodySink;
  private readonly insertion: Insertion;
  private readonly source: { resume(): void };

  constructor(page: Page, next: BodySink, source: { resume(): void }) {
    this.next = next;
    this.source = source;
    this.insertion = new Insertion(page, (buffer, from, to) => next.body(buffer, from, to));
  }

  body(buffer: Buffer, from: number, to: number): boolean {
    return this.insertion.body(buffer, from, to);
  }

  flush(): void {
    this.next.flush();
  }

  end(trailers: string): void {
    this.insertion.end();
    this.next.end(changedFields(trailers));
  }

  abort(): void {
    this.next.abort();
  }

  resume(): void {
    this.source.resume();
  }

  cancel(): void {
    // There is nothing to release.
  }
}
