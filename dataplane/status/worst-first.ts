import type { Alert, Severity } from '../../shared/wire/dashboard.ts';

const SEVERITIES: readonly Severity[] = ['error', 'warning', 'advice'];

/**
 * Keeps the worst alerts, in the order of their arrival within a severity, and counts all. Memory stays bounded however many there are.
 */
export class WorstFirst {
  count = 0;
  private readonly limit: number;
  private readonly kept = new Map<Severity, Alert[]>(SEVERITIES.map((severity) => [severity, []]));

  constructor(limit: number) {
    this.limit = limit;
  }

  add(alert: Alert): void {
    this.count++;
    const kept = this.kept.get(alert.severity);
    if (kept !== undefined && kept.length < this.limit) kept.push(alert);
  }

  list(): Alert[] {
    return [...this.kept.values()].flat().slice(0, this.limit);
  }
}
