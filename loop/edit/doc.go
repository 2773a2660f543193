// Package edit applies a model's reply, written as search/replace blocks, to a working tree.
// In go the reply and an os.Root; out comes what was applied, or for every failing block what is wrong with it and
// the nearest lines of the file. Matching is exact first and never goes beyond white space.
// All blocks of a reply are applied or none is: in memory first, then by temporary files and renames.
// It never guesses between two places, never follows a link, never touches a line outside of a matched block.
package edit
