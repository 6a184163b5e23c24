"""The `corpus` drafter and the index it reads: n-grams of source files and what followed them.

`files` finds source files, `ordering` sorts every position of their tokens by what stands before
it, `index` is the file on disk and the look-up in it, `build` keeps indexes up to date, `drafter`
proposes from them. Nothing is imported here, so that drafting does not load the builder, nor a help
that lists languages the drafter.
"""
