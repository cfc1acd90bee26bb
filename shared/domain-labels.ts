/** Maximum number of distinct values of the label `domain` of metrics; further routes count as `other`. */
export const MAX_DOMAIN_LABELS = 1_000;
export const OVERFLOW_LABEL = 'other';
