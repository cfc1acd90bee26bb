import type { Exchange } from './exchange.ts';
import type { BodySink, BodySource, BodyStage, StageMaker } from './filter.ts';

/** The filters that the body of one response passes through, each linked to its neighbours. */
export class FilterChain implements BodyStage {
  private readonly x: Exchange;
  /** The one nearest to the upstream first. */
  private readonly stages: readonly BodyStage[];
  private over = false;

  constructor(x: Exchange, makers: readonly StageMaker[]) {
    this.x = x;
    const stages: BodyStage[] = [];
    // From the client on, since each stage needs its sink when it is made; its source is only looked up later.
    for (let at = makers.length - 1; at >= 0; at--) {
      const source: BodySource = { resume: () => this.resumeBefore(at), onFault: (error) => this.onFault(error) };
      stages.unshift((makers[at] as StageMaker)(stages[0] ?? this.client, source));
    }
    this.stages = stages;
  }

  private get first(): BodyStage {
    return this.stages[0] as BodyStage;
  }

  body(buffer: Buffer, from: number, to: number): boolean {
    return this.over || this.first.body(buffer, from, to);
  }

  flush(): void {
    if (!this.over) this.first.flush();
  }

  end(trailers: string): void {
    if (!this.over) this.first.end(trailers);
  }

  abort(): void {
    this.cancel();
    this.x.client.abort(this.x);
  }

  resume(): void {
    if (!this.over) this.stages.at(-1)?.resume();
  }

  cancel(): void {
    if (this.over) return;
    this.over = true;
    this.x.filtering = null;
    for (const stage of this.stages) stage.cancel();
  }

  private resumeBefore(stage: number): void {
    if (this.over) return;
    if (stage === 0) this.x.attempt?.resume();
    else this.stages[stage - 1]?.resume();
  }

  private onFault(error: unknown): void {
    if (!this.over) this.x.client.onFault(error);
  }

  /** The output of the last filter. Nothing reaches the client once the chain has ended. */
  private readonly client: BodySink = {
    body: (buffer, from, to) => this.over || this.x.client.body(buffer, from, to),
    flush: () => {
      if (!this.over) this.x.client.flush();
    },
    end: (trailers) => {
      if (this.over) return;
      this.over = true;
      this.x.filtering = null;
      this.x.client.end(this.x, trailers);
      this.x.client.flush();
    },
    abort: () => {
      if (this.over) return;
      const { attempt } = this.x;
      this.abort();
      attempt?.cancel();
    },
  };
}
